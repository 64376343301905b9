// The mutex of this module's files: the engine's own where the thread sanitizer must see it, else the library's.

#if ESPALIER_THREAD_SANITIZER
    import EspalierEngine

    typealias Mutex<Value: ~Copyable> = VisibleMutex<Value>
#endif
