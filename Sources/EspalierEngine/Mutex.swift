// A mutex that the thread sanitizer can see: compiled only with `-D ESPALIER_THREAD_SANITIZER`, where it replaces
// `Synchronization.Mutex` in this module and in the tests.
//
// On Linux the library's mutex acquires a contended lock in code that is not instrumented, so the sanitizer would now
// and then report a race on a value that it guards. A list of suppressions would hide real races with the
// false ones; a lock over `pthread_mutex_t` hides none, and all other code is the code that ships.

#if ESPALIER_THREAD_SANITIZER
    typealias Mutex<Value: ~Copyable> = VisibleMutex<Value>

    // SAFETY: @unchecked Sendable, because the value is touched only while `monitor` is held.
    /// A value with a lock.
    @safe
    package struct VisibleMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let monitor = Monitor(schedule: nil)
        private let value: UnsafeMutablePointer<Value>

        package init(_ value: consuming sending Value) {
            // SAFETY: owned by this mutex until `deinit`.
            unsafe self.value = .allocate(capacity: 1)
            unsafe self.value.initialize(to: value)
        }

        deinit {
            // SAFETY: initialized in `init`; no thread can hold the lock any more.
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }

        /// Runs `body` with the value while holding the lock.
        package borrowing func withLock<R: ~Copyable, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending R
        ) throws(E) -> sending R {
            monitor.lock()
            defer { monitor.unlock() }
            // SAFETY: the lock is held.
            return try unsafe body(&value.pointee)
        }
    }
#endif
