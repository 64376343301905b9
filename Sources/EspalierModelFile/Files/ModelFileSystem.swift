// Model files on disk: what lies at a path, its bytes within bounds, folders in order; each failure with its path.
//
// Invariants
//   1. Only regular files are read, and none beyond `ModelDocument.byteCountMax`: no device and no pipe makes reading
//      go on for ever.

import FoundationEssentials

enum ModelFileSystem {
    /// What lies at a path.
    enum Item: Equatable {
        case nothing
        case folder
        case file(byteCount: Int)
        case other
    }

    /// What lies at `url`, links followed.
    static func item(at url: URL) -> Item {
        let path = url.resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return .nothing }
        switch attributes[.type] as? FileAttributeType {
        case .typeDirectory: return .folder
        case .typeRegular: return .file(byteCount: byteCount(attributes[.size]))
        default: return .other
        }
    }

    /// A size as Foundation gives it: in which type of integer differs between its versions.
    private static func byteCount(_ size: Any?) -> Int {
        switch size {
        case let size as Int: size
        case let size as UInt64: Int(exactly: size) ?? .max
        case let size as Int64: Int(exactly: size) ?? .max
        default: .max
        }
    }

    /// The bytes of a regular file.
    static func bytes(of url: URL) throws(ModelFileError) -> Data {
        switch item(at: url) {
        case .nothing: throw ModelFileError(path: url.path, .notFound, "there is no such file")
        case .folder: throw ModelFileError(path: url.path, .wrongKindOfFile, "this is a folder; it has to be a file")
        case .other: throw ModelFileError(path: url.path, .wrongKindOfFile, "this is no regular file")
        case .file(let byteCount) where byteCount > ModelDocument.byteCountMax:
            throw ModelDocument.tooLarge(path: url.path, byteCount: byteCount)
        case .file:
            do { return try Data(contentsOf: url) } catch {
                throw ModelFileError(path: url.path, .inaccessible, "the file cannot be read: \(error)")
            }
        }
    }

    /// The names in a folder, ascending.
    static func names(in folder: URL) throws(ModelFileError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() } catch {
            throw ModelFileError(path: folder.path, .inaccessible, "the folder cannot be read: \(error)")
        }
    }

    /// Writes a file, whole or not at all, into a folder that is made if it is not there.
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
