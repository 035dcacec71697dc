/* An empty Python module, so that the compiled walk and pay are built, installed and found like any other extension. Their
   functions are called through ctypes (srm.evaluate.compiled), which lets other threads run meanwhile. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_compiled", .m_size = 0};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModule_Create(&definition); }
