"""What is shown: pages made from run folders alone. Nothing here plays, trains or infers."""
