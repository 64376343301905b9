// The mutex of this module: the engine's own in builds with the thread sanitizer, which must see it, else the
// standard library's.

#if ESPALIER_THREAD_SANITIZER
    import EspalierEngine

    typealias Mutex<Value: ~Copyable> = VisibleMutex<Value>
#endif
