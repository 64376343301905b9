// Access to model files on disk: item kinds, bounded reads, sorted folder listings; each error names the path.
//
// Invariants
//   1. Only regular files of at most `ModelDocument.byteCountMax` bytes are read, so a device or a pipe cannot make a
//      read endless.

import FoundationEssentials

enum ModelFileSystem {
    /// The kind of item at a path.
    enum Item: Equatable {
        case nothing
        case folder
        case file(byteCount: Int)
        case other
    }

    /// The kind of item at `url`, with symbolic links resolved.
    static func item(at url: URL) -> Item {
        let path = url.resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return .nothing }
        switch attributes[.type] as? FileAttributeType {
        case .typeDirectory: return .folder
        case .typeRegular: return .file(byteCount: byteCount(attributes[.size]))
        default: return .other
        }
    }

    /// Converts a file size from Foundation, whose integer type differs between versions.
    private static func byteCount(_ size: Any?) -> Int {
        switch size {
        case let size as Int: size
        case let size as UInt64: Int(exactly: size) ?? .max
        case let size as Int64: Int(exactly: size) ?? .max
        default: .max
        }
    }

    /// Reads a regular file.
    static func bytes(of url: URL) throws(ModelFileError) -> Data {
        switch item(at: url) {
        case .nothing: throw ModelFileError(path: url.path, .notFound, "the file does not exist")
        case .folder: throw ModelFileError(path: url.path, .wrongKindOfFile, "this is a folder; name a file")
        case .other: throw ModelFileError(path: url.path, .wrongKindOfFile, "this is not a regular file")
        case .file(let byteCount) where byteCount > ModelDocument.byteCountMax:
            throw ModelDocument.tooLarge(path: url.path, byteCount: byteCount)
        case .file:
            do { return try Data(contentsOf: url) } catch {
                throw ModelFileError(path: url.path, .inaccessible, "the file cannot be read: \(error)")
            }
        }
    }

    /// The names of the items in a folder, ascending.
    static func names(in folder: URL) throws(ModelFileError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } catch {
            throw ModelFileError(path: folder.path, .inaccessible, "the folder cannot be read: \(error)")
        }
    }

    /// Writes a file atomically; creates its folder if it is missing.
    static func write(_ bytes: Data, to url: URL) throws(ModelFileError) {
        do {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try bytes.write(to: url, options: .atomic)
        } catch {
            throw ModelFileError(path: url.path, .inaccessible, "the file cannot be written: \(error)")
        }
    }
}
