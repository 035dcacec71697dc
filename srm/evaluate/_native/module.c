/* The Python module that the compiled walk and pay are built, installed and found with. They are called through ctypes
   (srm.evaluate._native.compiled), which lets other threads run meanwhile; here is only what ctypes is slow at. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Where an array's numbers are. numpy's own `array.ctypes.data` takes ten times as long, and there are twenty for each rollout. */
static PyObject *address(PyObject *module, PyObject *array) {
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    PyObject *at = PyLong_FromVoidPtr(view.buf);
    PyBuffer_Release(&view);
    return at;
}

static PyMethodDef functions[] = {
    {"address", address, METH_O, "Where the numbers of a contiguous array are."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_compiled", .m_size = 0, .m_methods = functions};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModule_Create(&definition); }
