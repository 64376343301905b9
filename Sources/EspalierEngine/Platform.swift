// The part of the platform's C library that the engine needs, under Swift names. Only this file and its extensions
// (`Platform+….swift`) import that library.
//
// Invariants
//   1. Calls that can fail return a negative error number; EINTR is retried here and never returned.
//   2. Locks belong to the open file description (OFD), so closing another descriptor of the file keeps them, and two
//      descriptors of one process exclude each other. F_OFD_SETLK is invisible to Swift without _GNU_SOURCE: its
//      number is written here and tested.

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// SAFETY: the strings live for the length of the calls. (Outside `Platform`, whose members have the same names.)
private func openFile(_ folder: Int32, _ path: String, _ flags: Int32, _ permissions: mode_t = 0o644) -> Int32 {
    unsafe openat(folder, path, flags, permissions)
}
private func closeFile(_ descriptor: Int32) -> Int32 { close(descriptor) }
private func atFork(_ body: @escaping @convention(c) () -> Void) -> Int32 { pthread_atfork(nil, nil, body) }

/// The operating system, as far as the engine knows it.
package enum Platform {
    /// Linux: `F_OFD_GETLK`, `F_OFD_SETLK`, `SEEK_DATA`.
    private static let getOpenFileLock: Int32 = 36, setOpenFileLock: Int32 = 37, seekData: Int32 = 3

    /// The error numbers that the engine tells apart.
    package static let noEntry = ENOENT, exists = EEXIST, noSpace = ENOSPC, quotaExceeded = EDQUOT, fileTooBig = EFBIG
    package static let ioError = EIO, accessDenied = EACCES, notADirectory = ENOTDIR, linkLoop = ELOOP
    package static let tryAgain = EAGAIN, notSupported = EOPNOTSUPP, invalid = EINVAL, noSuchAddress = ENXIO
    package static let notPermitted = EPERM

    /// The operating system's message for error number `errno`.
    package static func message(of errno: Int32) -> String {
        // SAFETY: `strerror` returns a NUL-terminated string that lives until the next call in this thread.
        unsafe String(cString: strerror(errno))
    }

    /// Calls `body` until it is not interrupted; a negative result becomes the negated error number.
    static func retrying(_ body: () -> Int) -> Int {
        while true {
            let result = body()
            if result >= 0 || errno != EINTR { return result >= 0 ? result : -Int(errno) }
        }
    }

    // MARK: Files

    /// The descriptor that means the working directory of the process.
    package static let workingDirectory = Int32(AT_FDCWD)

    /// Opens `name` in a directory, and no symbolic link; a file that is created gets those of `permissions` that the
    /// mask for new files leaves.
    ///
    /// Never waits for another process, as opening a pipe would, and never makes a terminal the controlling one.
    package static func open(
        _ name: String, in directory: Int32, writable: Bool, createExclusively: Bool, permissions: UInt16
    ) -> Int {
        let creating = createExclusively ? O_CREAT | O_EXCL : 0
        let flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | creating
        return retrying { Int(openFile(directory, name, flags, mode_t(permissions))) }
    }

    /// Opens the directory at `path`, which may be relative to another one; returns a descriptor.
    package static func openDirectory(_ path: String, in directory: Int32) -> Int {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let code = retrying { Int(openFile(directory, path, flags)) }
        #if os(Linux)
            // A directory that may be searched but not read: O_PATH can open names in it, but not sync it.
            let pathOnly: Int32 = 0o10000000
            if code == -Int(EACCES) { return retrying { Int(openFile(directory, path, flags | pathOnly)) } }
        #endif
        return code
    }

    /// Reads the target of a symbolic link in a directory; `nil` and an error number if `name` is not a link.
    package static func target(ofLink name: String, in directory: Int32, into result: inout String?) -> Int {
        result = nil
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: the kernel writes at most `count` bytes to the buffer, which is not empty.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
            let text = unsafe buffer.assumingMemoryBound(to: CChar.self)
            guard let start = text.baseAddress else { return -Int(EINVAL) }
            return retrying { unsafe readlinkat(directory, name, start, text.count) }
        }
        guard count >= 0 else { return count }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        // A name that is not UTF-8 cannot be a string, and a repaired one would name another file.
        guard text.utf8.elementsEqual(bytes[..<count]) else { return -Int(EILSEQ) }
        result = text
        return count
    }

    /// Closes a descriptor; never retried, because the system frees the descriptor even if `close` fails.
    package static func close(_ descriptor: Int32) -> Int {
        closeFile(descriptor) == 0 ? 0 : (errno == EINTR ? 0 : -Int(errno))
    }

    /// Reads up to `buffer.count` bytes at `offset`.
    package static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int
    {
        // SAFETY: the kernel writes at most `count` bytes to the buffer.
        retrying { unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// The first offset >= `offset` that is in no hole; ENXIO if there is none.
    package static func nextData(_ descriptor: Int32, from offset: UInt64) -> Int {
        retrying { Int(lseek(descriptor, off_t(offset), seekData)) }
    }

    /// Writes up to `buffer.count` bytes at `offset`.
    package static func write(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer, at offset: UInt64) -> Int {
        // SAFETY: the kernel reads at most `count` bytes from the buffer.
        retrying { unsafe pwrite(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Makes the file's content (and the metadata needed to read it) durable.
    package static func sync(_ descriptor: Int32, barrierOnly: Bool) -> Int {
        #if canImport(Darwin)
            let full = retrying { Int(fcntl(descriptor, barrierOnly ? F_BARRIERFSYNC : F_FULLFSYNC)) }
            return full >= 0 ? 0 : retrying { Int(fsync(descriptor)) }
        #else
            return retrying { Int(fdatasync(descriptor)) }
        #endif
    }

    /// Makes the entries of an open directory durable.
    package static func syncDirectory(_ descriptor: Int32) -> Int { retrying { Int(fsync(descriptor)) } }

    /// Sets the file's size.
    package static func truncate(_ descriptor: Int32, to byteCount: UInt64) -> Int {
        retrying { Int(ftruncate(descriptor, off_t(byteCount))) }
    }

    /// Reserves disk space for a range of the file, extending it if needed.
    package static func allocate(_ descriptor: Int32, from offset: UInt64, byteCount: UInt64) -> Int {
        while true {
            // posix_fallocate returns the error number instead of setting `errno`.
            let code = posix_fallocate(descriptor, off_t(offset), off_t(byteCount))
            if code != EINTR { return -Int(code) }
        }
    }

    /// Renames a file within a directory unless the new name exists (EEXIST).
    ///
    /// One step if the system and the file system support it; otherwise a hard link and a removal, and a process that
    /// is killed between the two leaves both names.
    package static func renameExclusively(_ name: String, to newName: String, in directory: Int32) -> Int {
        #if os(Linux)
            // SAFETY: the strings live for the length of the call.
            if let renameInOneStep = unsafe renameInOneStep {
                let noReplace: UInt32 = 1
                let code = retrying { Int(unsafe renameInOneStep(directory, name, directory, newName, noReplace)) }
                if code != -Int(EINVAL), code != -Int(ENOSYS) { return code }
            }
        #endif
        // SAFETY: the strings live for the length of the calls.
        let linked = retrying { Int(unsafe linkat(directory, name, directory, newName, 0)) }
        if linked >= 0 {
            let removed = remove(name, in: directory)
            // Another process that opened the new name may have removed the old one already.
            return removed == -Int(ENOENT) ? 0 : removed
        }
        if linked == -Int(EEXIST) { return linked }
        // A file system without hard links: another process can create the name between this check and the rename.
        var status: FileStatus?
        let code = Self.status(of: newName, in: directory, into: &status)
        if code != -Int(ENOENT) { return code < 0 ? code : -Int(EEXIST) }
        return rename(name, to: newName, in: directory)
    }

    #if os(Linux)
        private typealias RenameInOneStep =
            @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

        // SAFETY: the C library declares `renameat2` with these arguments; `nil` if the library does not have it.
        /// `renameat2`, which is invisible to Swift without _GNU_SOURCE.
        private static let renameInOneStep: RenameInOneStep? = unsafe dlsym(nil, "renameat2").map {
            unsafe unsafeBitCast($0, to: RenameInOneStep.self)
        }
    #endif

    /// Renames a file within a directory, replacing what has the new name.
    package static func rename(_ name: String, to newName: String, in directory: Int32) -> Int {
        // SAFETY: the strings live for the length of the call.
        retrying { Int(unsafe renameat(directory, name, directory, newName)) }
    }

    /// Removes a name from a directory.
    package static func remove(_ name: String, in directory: Int32) -> Int {
        // SAFETY: the string lives for the length of the call.
        retrying { Int(unsafe unlinkat(directory, name, 0)) }
    }

    /// The names in a directory, in any order; a name that is not UTF-8 is repaired, and then names no file.
    package static func names(in directory: Int32, into names: inout [String]) -> Int {
        let code = openDirectory(".", in: directory)
        guard code >= 0 else { return code }
        // SAFETY: the stream owns the descriptor and lives until it is closed; each name ends with a NUL.
        guard let stream = unsafe fdopendir(Int32(code)) else { return -Int(errno) }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream), let offset = MemoryLayout<dirent>.offset(of: \.d_name) {
            let name = unsafe UnsafeRawPointer(entry) + offset
            names.append(unsafe String(cString: name.assumingMemoryBound(to: CChar.self)))
        }
        return 0
    }

    // MARK: Locks

    /// Tries to lock one byte for this open file description; 0, or a negative error number (EAGAIN, EACCES: held).
    package static func lock(_ descriptor: Int32, byte: UInt64, exclusive: Bool) -> Int {
        setLock(descriptor, setOpenFileLock, byte: byte, type: Int16(exclusive ? F_WRLCK : F_RDLCK))
    }

    /// Releases the lock of one byte.
    package static func unlock(_ descriptor: Int32, byte: UInt64) -> Int {
        setLock(descriptor, setOpenFileLock, byte: byte, type: Int16(F_UNLCK))
    }

    /// Marks a byte with a lock that names this process, so that others can ask for its process id.
    package static func markProcess(_ descriptor: Int32, byte: UInt64) -> Int {
        setLock(descriptor, F_SETLK, byte: byte, type: Int16(F_WRLCK))
    }

    /// The process that marked a byte; 0 if there is none.
    package static func markedProcess(_ descriptor: Int32, byte: UInt64) -> Int32 {
        guard let holder = findLock(descriptor, F_GETLK, byte: byte), holder.l_pid > 0 else { return 0 }
        return holder.l_pid
    }

    /// Whether another open file description has a lock on a byte.
    package static func isLocked(_ descriptor: Int32, byte: UInt64) -> Bool {
        findLock(descriptor, getOpenFileLock, byte: byte) != nil
    }

    /// The lock of another owner that prevents this descriptor from locking a byte, if there is one.
    private static func findLock(_ descriptor: Int32, _ command: Int32, byte: UInt64) -> flock? {
        var range = lockRange(byte, Int16(F_RDLCK))
        // SAFETY: the kernel reads and fills the structure it is given.
        let code = retrying { Int(unsafe fcntl(descriptor, command, &range)) }
        return code < 0 || range.l_type == Int16(F_UNLCK) ? nil : range
    }

    private static func setLock(_ descriptor: Int32, _ command: Int32, byte: UInt64, type: Int16) -> Int {
        var range = lockRange(byte, type)
        // SAFETY: the kernel reads the structure it is given.
        return retrying { Int(unsafe fcntl(descriptor, command, &range)) }
    }

    private static func lockRange(_ byte: UInt64, _ type: Int16) -> flock {
        var range = flock()
        (range.l_type, range.l_whence) = (type, Int16(SEEK_SET))
        (range.l_start, range.l_len) = (off_t(byte), 1)
        return range
    }

    // MARK: Processes

    /// The number of this process; costs a system call.
    package static var processID: Int32 { getpid() }

    /// The number of forks: the child of each fork increments it before any other code runs in it.
    private static let forks = Atomic<Int>(0)

    /// Whether forks are counted; the first access starts the count.
    private static let countsForks: Bool = {
        // Initializes the counter before a child can need it.
        forks.store(0, ordering: .relaxed)
        return atFork { Platform.forks.add(1, ordering: .relaxed) } == 0
    }()

    /// The number of forks between the process that called `countForks` first and this one; costs one load.
    @inline(__always)
    static var forkCount: Int { forks.load(ordering: .relaxed) }

    /// Makes `forkCount` count from now on.
    static func countForks() { _ = countsForks }

    // MARK: Time, chance and threads

    /// Nanoseconds since 1970.
    package static func now() -> UInt64 {
        var time = timespec()
        // SAFETY: the kernel fills the structure it is given.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// A number that no other thread has at the same time.
    @inline(__always)
    package static var threadNumber: UInt {
        #if canImport(Darwin)
            // SAFETY: only the address is used.
            unsafe UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    private static let threadKey: pthread_key_t? = {
        var key = pthread_key_t()
        // SAFETY: the system fills the key it is given.
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()
    private static let threadCount = Atomic<UInt>(0)

    /// A number that no other thread of this process has or had, unlike `threadNumber`; 0 if the system keeps none.
    package static var lifelongThreadNumber: UInt {
        guard let threadKey else { return 0 }
        // SAFETY: the stored pointer is a number, and is never dereferenced.
        if let known = unsafe pthread_getspecific(threadKey) { return UInt(bitPattern: known) }
        let number = threadCount.wrappingAdd(1, ordering: .relaxed).newValue
        return unsafe pthread_setspecific(threadKey, UnsafeRawPointer(bitPattern: number)) == 0 ? number : 0
    }

    /// Suspends the calling thread; under a schedule, lets another thread run instead.
    package static func pause(milliseconds: Int) {
        if let schedule = CurrentSchedule.value { return schedule.yield() }
        _ = usleep(UInt32(milliseconds) * 1000)
    }

    /// Lets another thread run.
    package static func yield() {
        if let schedule = CurrentSchedule.value { return schedule.yield() }
        _ = sched_yield()
    }

    /// The machine's memory in bytes; 1 TiB if the system does not report it.
    static let memoryByteCount: Int = {
        let (pages, size) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
        return pages > 0 && size > 0 ? Int(pages) * Int(size) : 1 << 40
    }()

    /// Allocates memory that begins at a multiple of `alignment`; `nil` if the system has none.
    static func allocateMemory(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
        var memory: UnsafeMutableRawPointer?
        // SAFETY: the system sets the pointer, or returns an error number.
        return unsafe posix_memalign(&memory, alignment, byteCount) == 0 ? memory : nil
    }

    /// Frees memory that `allocateMemory` returned.
    // SAFETY: the caller is the last user of the memory.
    static func freeMemory(_ memory: UnsafeMutableRawPointer) { unsafe free(memory) }

    /// The first place of `value` in `bytes`.
    static func firstIndex(of value: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
        // SAFETY: the C library reads the bytes of the buffer only, and finds an address within it.
        guard let start = bytes.baseAddress else { return nil }
        return unsafe memchr(start, Int32(value), bytes.count).map { unsafe UnsafeRawPointer($0) - start }
    }

    /// Asks for huge pages in a range of memory; changes no byte of it, and the system may refuse.
    static func preferHugePages(_ range: UnsafeMutableRawBufferPointer) {
        #if os(Linux)
            // SAFETY: the range is the caller's.
            _ = unsafe madvise(range.baseAddress, range.count, MADV_HUGEPAGE)
        #endif
    }

    /// Lets the system reclaim the pages of a range whose content is no longer needed.
    static func giveUpContent(_ range: UnsafeMutableRawBufferPointer) {
        // SAFETY: the caller reads no byte of the range before it has written it again.
        _ = unsafe madvise(range.baseAddress, range.count, MADV_FREE)
    }
}

// SAFETY: @unchecked Sendable, because both pointers are set once, and what they point to is made for sharing.
/// A lock with a condition variable, for waits that may last as long as a sync or a transaction.
@safe
package final class Monitor: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let schedule: (any ThreadSchedule)?

    /// An unlocked monitor.
    ///
    /// - Parameter schedule: decides which thread runs next; `nil` means the operating system.
    package init(schedule: (any ThreadSchedule)? = CurrentSchedule.value) {
        self.schedule = schedule
        // SAFETY: both are initialized before use and never move; the monitor owns them until its end.
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        let made = unsafe (pthread_mutex_init(mutex, nil), pthread_cond_init(condition, nil))
        precondition(made == (0, 0), "no memory for a lock")
    }

    deinit {
        // SAFETY: no thread can wait any more, because a waiting thread keeps a reference.
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    func lock() {
        if let schedule { return schedule.lock(self) }
        // SAFETY: `mutex` is initialized; the same thread unlocks it.
        unsafe pthread_mutex_lock(mutex)
    }

    func unlock() {
        if let schedule { return schedule.unlock(self) }
        // SAFETY: this thread locked it.
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Releases the lock, waits for `wakeAll` or a spurious wakeup, and acquires it again; only inside `withLock`.
    package func wait() {
        if let schedule { return schedule.wait(self) }
        // SAFETY: called with the lock held, by this type's contract.
        unsafe pthread_cond_wait(condition, mutex)
    }

    /// Wakes all waiting threads; only inside `withLock`.
    package func wakeAll() {
        if let schedule { return schedule.wakeAll(self) }
        // SAFETY: `condition` is initialized.
        unsafe pthread_cond_broadcast(condition)
    }
}

private func runThread(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // SAFETY: `PlatformThread.start` passed a retained `ThreadWork`, for this thread to consume.
    if let pointer = unsafe pointer { unsafe Unmanaged<ThreadWork>.fromOpaque(pointer).takeRetainedValue().body() }
    return nil
}

// SAFETY: @unchecked Sendable, because the handle never changes, and `join` is called once.
/// A thread of the operating system.
@safe
package struct PlatformThread: @unchecked Sendable {
    private let handle: pthread_t

    /// Starts a thread that runs `body`; `nil` if the system cannot create one.
    package static func start(_ body: @escaping @Sendable () -> Void) -> PlatformThread? {
        // SAFETY: the thread consumes the reference; if no thread was started, this method releases it.
        let work = unsafe Unmanaged.passRetained(ThreadWork(body))
        #if canImport(Darwin)
            var handle: pthread_t?
            let code = unsafe pthread_create(&handle, nil, { pointer in unsafe runThread(pointer) }, work.toOpaque())
            if code == 0, let handle = unsafe handle { return unsafe PlatformThread(handle: handle) }
        #else
            var handle = pthread_t()
            let code = unsafe pthread_create(&handle, nil, { pointer in unsafe runThread(pointer) }, work.toOpaque())
            if code == 0 { return PlatformThread(handle: handle) }
        #endif
        unsafe work.release()
        return nil
    }

    /// Waits until the thread has ended; call it at most once.
    package func join() {
        // SAFETY: the thread was made joinable, and was not joined before, by this method's contract.
        #if canImport(Darwin)
            _ = unsafe pthread_join(handle, nil)
        #else
            _ = pthread_join(handle, nil)
        #endif
    }
}
