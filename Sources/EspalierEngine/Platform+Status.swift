// The status of files.
//
// Invariants
//   1. Asking for the status of a file does not make the next write to it slower: on Linux no time is asked for. Since
//      version 6.13 the kernel gives a write that follows a question for the file's times a new time of its own, and
//      the next sync then also writes the inode (see Decisions, "No question for times").

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Platform {
    /// The status of a file, as the file system reports it.
    package struct FileStatus {
        package let device: UInt64, inode: UInt64, byteCount: UInt64
        /// The number of names of the file.
        package let linkCount: UInt64
        package let isRegular: Bool, isDirectory: Bool
        /// The owner, the group and the permissions.
        package let rights: FileRights

        private init(
            mode: mode_t, owner: UInt32, group: UInt32, device: UInt64, inode: UInt64, byteCount: UInt64,
            linkCount: UInt64
        ) {
            (self.device, self.inode, self.byteCount, self.linkCount) = (device, inode, byteCount, linkCount)
            isRegular = mode & S_IFMT == S_IFREG
            isDirectory = mode & S_IFMT == S_IFDIR
            rights = FileRights(owner: owner, group: group, permissions: UInt16(mode & 0o777))
        }

        fileprivate init(_ raw: stat) {
            self.init(
                mode: raw.st_mode, owner: UInt32(raw.st_uid), group: UInt32(raw.st_gid), device: UInt64(raw.st_dev),
                inode: UInt64(raw.st_ino), byteCount: UInt64(max(raw.st_size, 0)), linkCount: UInt64(raw.st_nlink))
        }

        #if os(Linux)
            /// The fields of the kernel's `struct statx`, by their offsets.
            fileprivate init(statx raw: RawSpan) {
                func field<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
                    // SAFETY: the offset is one of the structure's 256 bytes, and every bit pattern is an integer.
                    unsafe raw.unsafeLoadUnaligned(fromByteOffset: offset, as: type)
                }
                let (major, minor) = (field(136, as: UInt32.self), field(140, as: UInt32.self))
                self.init(
                    mode: mode_t(field(28, as: UInt16.self)), owner: field(20, as: UInt32.self),
                    group: field(24, as: UInt32.self), device: UInt64(major) << 32 | UInt64(minor),
                    inode: field(32, as: UInt64.self), byteCount: field(40, as: UInt64.self),
                    linkCount: UInt64(field(16, as: UInt32.self)))
            }
        #endif
    }

    /// The status of an open file.
    package static func status(_ descriptor: Int32, into result: inout FileStatus?) -> Int {
        #if os(Linux)
            if let code = statusWithoutTimes(of: "", in: descriptor, emptyPath, into: &result) { return code }
        #endif
        var raw = stat()
        // SAFETY: the kernel fills the structure it is given.
        let code = retrying { Int(unsafe fstat(descriptor, &raw)) }
        result = code < 0 ? nil : FileStatus(raw)
        return code
    }

    /// The status of `name` in a directory; for a symbolic link, that of the link itself.
    package static func status(of name: String, in directory: Int32, into result: inout FileStatus?) -> Int {
        #if os(Linux)
            if let code = statusWithoutTimes(of: name, in: directory, AT_SYMLINK_NOFOLLOW, into: &result) {
                return code
            }
        #endif
        var raw = stat()
        // SAFETY: the kernel fills the structure it is given.
        let code = retrying { Int(unsafe fstatat(directory, name, &raw, AT_SYMLINK_NOFOLLOW)) }
        result = code < 0 ? nil : FileStatus(raw)
        return code
    }

    /// Sets the permissions of an open file, as nine bits, whatever the mask for new files is.
    package static func setPermissions(_ descriptor: Int32, _ permissions: UInt16) -> Int {
        assert(permissions & ~0o777 == 0, "permissions \(permissions)")
        return retrying { Int(fchmod(descriptor, mode_t(permissions))) }
    }

    /// Gives an open file to a user and a group.
    package static func setOwner(_ descriptor: Int32, _ owner: UInt32, group: UInt32) -> Int {
        retrying { Int(fchown(descriptor, uid_t(owner), gid_t(group))) }
    }

    /// Whether this process acts for the superuser, who may give files to others.
    package static var isSuperuser: Bool { geteuid() == 0 }

    #if os(Linux)
        private typealias Statx =
            @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32

        /// AT_EMPTY_PATH, which is invisible to Swift without _GNU_SOURCE, as `statx` is.
        private static let emptyPath: Int32 = 0x1000

        // SAFETY: the C library declares `statx` with these arguments; `nil` if the library does not have it.
        private static let statx: Statx? = unsafe dlsym(nil, "statx").map { unsafe unsafeBitCast($0, to: Statx.self) }

        /// Asks for type, mode, link count, owner, group, inode and size; `nil` if the system has no such call.
        private static func statusWithoutTimes(
            of name: String, in directory: Int32, _ flags: Int32, into result: inout FileStatus?
        ) -> Int? {
            guard let statx = unsafe statx else { return nil }
            let wanted: UInt32 = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x100 | 0x200
            // The structure has 256 bytes, in whole words.
            var raw = [UInt64](repeating: 0, count: 32)
            // SAFETY: the kernel fills the 256 bytes that it is given, and the name lives for the length of the call.
            let code = unsafe raw.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return -Int(EINVAL) }
                return retrying { Int(unsafe statx(directory, name, flags, wanted, base)) }
            }
            // A sandbox may refuse calls that it does not know.
            guard ![-Int(ENOSYS), -Int(EINVAL), -Int(EPERM)].contains(code) else { return nil }
            // SAFETY: `raw` lives for the length of the call.
            result = unsafe code < 0 ? nil : FileStatus(statx: raw.span.bytes)
            return code
        }
    #endif
}
