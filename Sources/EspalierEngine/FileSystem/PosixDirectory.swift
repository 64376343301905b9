// A directory of the operating system, held open by a descriptor. Only this type resolves paths.
//
// Invariants
//   1. Every call names a file relative to the descriptor: the working directory and the directory's own path do not
//      matter after `entry(at:)`.
//   2. No call follows a symbolic link at a file's name: `entry(at:)` has already followed all links.
//   3. No call waits for another process: a name that is not a regular file is refused before it is opened.

/// An open directory of the operating system.
final class PosixDirectory: StorageDirectory {
    /// The number of symbolic links that Linux follows in a row.
    private static let linkCountMax = 40

    private let descriptor: Int32

    private init(descriptor: Int32) {
        assert(descriptor >= 0, "descriptor \(descriptor)")
        self.descriptor = descriptor
    }

    deinit { _ = Platform.close(descriptor) }

    /// Resolves `path` to an entry.
    static func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        guard !path.isEmpty else { throw .path(.empty) }
        guard !path.utf8.contains(0) else { throw .path(.containsNUL) }
        var (directory, name) = try open(parentOf: path, in: Platform.workingDirectory)
        for _ in 0...linkCountMax {
            var target: String?
            let code = Platform.target(ofLink: name, in: directory.descriptor, into: &target)
            guard let target else {
                // EINVAL: the name is not a link; ENOENT: it does not exist yet.
                guard code == -Int(Platform.invalid) || code == -Int(Platform.noEntry) else {
                    throw .io(IOFailure(operation: .open, file: .store, errno: Int32(-code)))
                }
                return DirectoryEntry(directory, name)
            }
            (directory, name) = try open(parentOf: target, in: directory.descriptor)
        }
        throw .io(IOFailure(operation: .open, file: .store, errno: Platform.linkLoop))
    }

    /// Opens the directory part of `path`; returns it with the name part.
    private static func open(
        parentOf path: String, in directory: Int32
    ) throws(StorageError) -> (PosixDirectory, name: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        let parent = slash.map { $0 == path.utf8.startIndex ? "/" : String(path[..<$0]) } ?? "."
        assert(!name.utf8.contains(UInt8(ascii: "/")) && !parent.isEmpty, "\(name) in \(parent)")
        let code = Platform.openDirectory(parent, in: directory)
        guard code >= 0 else {
            switch Int32(-code) {
            case Platform.noEntry: throw .path(.noFolder)
            case Platform.notADirectory: throw .path(.notAFolder)
            case let errno: throw .io(IOFailure(operation: .open, file: .directory, errno: errno))
            }
        }
        let opened = PosixDirectory(descriptor: Int32(code))
        guard !name.isEmpty, name != ".", name != ".." else { throw .opening(.notAStore(.directory)) }
        return (opened, name)
    }

    func open(_ name: String, role: FileRole, mode: OpenMode) throws(StorageError) -> any StorageFile {
        try open(name, role, mode, permissions: role == .scratch ? 0o600 : 0o644)
    }

    func create(_ name: String, role: FileRole, permissions: UInt16) throws(StorageError) -> any StorageFile {
        try open(name, role, .createExclusively, permissions: permissions)
    }

    /// Opens the file `name`; one that is created has no permissions but these.
    private func open(
        _ name: String, _ role: FileRole, _ mode: OpenMode, permissions: UInt16
    ) throws(StorageError) -> any StorageFile {
        if mode != .createExclusively { try checkRegular(name, role) }
        let code = Platform.open(
            name, in: descriptor, writable: mode != .readOnly, createExclusively: mode == .createExclusively,
            permissions: permissions)
        guard code >= 0 else { throw Self.openingFailure(errno: Int32(-code), role) }
        let opened = Int32(code)
        var status: Platform.FileStatus?
        let answer = Platform.status(opened, into: &status)
        guard let status else {
            _ = Platform.close(opened)
            throw Self.openingFailure(errno: Int32(-answer), role)
        }
        // The name may have become another file's since `checkRegular`.
        guard status.isRegular else {
            _ = Platform.close(opened)
            throw Self.refusal(of: status, role)
        }
        return PosixFile(
            descriptor: opened, role: role, identity: FileIdentity(device: status.device, inode: status.inode))
    }

    /// Throws if `name` is not a regular file, without opening it: opening a device can have side effects.
    private func checkRegular(_ name: String, _ role: FileRole) throws(StorageError) {
        var status: Platform.FileStatus?
        let code = Platform.status(of: name, in: descriptor, into: &status)
        guard let status else { throw Self.openingFailure(errno: Int32(-code), role) }
        guard status.isRegular else { throw Self.refusal(of: status, role) }
    }

    private static func refusal(of status: Platform.FileStatus, _ role: FileRole) -> StorageError {
        assert(!status.isRegular, "a regular file is opened")
        if role == .log { return .path(.logNotAFile) }
        return .opening(.notAStore(status.isDirectory ? .directory : .notAFile))
    }

    private static func openingFailure(errno: Int32, _ role: FileRole) -> StorageError {
        assert(errno > 0, "the system's code \(errno)")
        if errno == Platform.noEntry { return .opening(.noSuchStore) }
        return .io(IOFailure(operation: .open, file: role, errno: errno))
    }

    func identity(of name: String, role: FileRole) throws(StorageError) -> FileIdentity? {
        var status: Platform.FileStatus?
        let code = Platform.status(of: name, in: descriptor, into: &status)
        if code == -Int(Platform.noEntry) { return nil }
        guard let status else { throw .io(IOFailure(operation: .open, file: role, errno: Int32(-code))) }
        return FileIdentity(device: status.device, inode: status.inode)
    }

    func rights(of name: String, role: FileRole) throws(StorageError) -> FileRights? {
        var status: Platform.FileStatus?
        let code = Platform.status(of: name, in: descriptor, into: &status)
        if code == -Int(Platform.noEntry) { return nil }
        guard let status else { throw .io(IOFailure(operation: .open, file: role, errno: Int32(-code))) }
        assert(code >= 0, "the system's code \(code) and rights")
        return status.rights
    }

    func names(beginningWith prefix: String) throws(StorageError) -> [String] {
        var names: [String] = []
        try Self.check(Platform.names(in: descriptor, into: &names), .read, .directory)
        return names.filter { $0.hasPrefix(prefix) }.sorted()
    }

    func renameExclusively(_ name: String, to newName: String, role: FileRole) throws(StorageError) -> Bool {
        assert(!name.isEmpty && !newName.isEmpty, "a file has no name")
        let code = Platform.renameExclusively(name, to: newName, in: descriptor)
        if code == -Int(Platform.exists) { return false }
        try Self.check(code, .rename, role)
        return true
    }

    func rename(_ name: String, to newName: String, role: FileRole) throws(StorageError) {
        assert(!name.isEmpty && !newName.isEmpty, "a file has no name")
        try Self.check(Platform.rename(name, to: newName, in: descriptor), .rename, role)
    }

    func remove(_ name: String, role: FileRole) throws(StorageError) {
        assert(!name.isEmpty, "a file has no name")
        try Self.check(Platform.remove(name, in: descriptor), .remove, role)
    }

    func sync() throws(StorageError) {
        try Self.check(Platform.syncDirectory(descriptor), .sync, .directory)
    }

    /// Throws the error for a negative result of the operating system.
    private static func check(_ code: Int, _ operation: IOOperation, _ role: FileRole) throws(StorageError) {
        if code < 0 { throw .io(IOFailure(operation: operation, file: role, errno: Int32(-code))) }
    }
}
