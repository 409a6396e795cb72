package grants

// Remembered gives how many subjects' grants k holds in memory.
func Remembered(k *Keeper) int { return len(k.seen) }
