// The versions of a compiled model in one folder, `NAME.momd`.

import FoundationEssentials

enum CompiledVersions {
    /// The path extension of such folders.
    static let pathExtension = "momd"
    /// The path extension of the file of one version.
    static let versionPathExtension = "mom"
    private static let listName = "VersionInfo.plist"
    private static let currentKey = "NSManagedObjectModel_CurrentVersionName"

    /// The names of all versions, ascending, and of the current one: that which the folder's property list names, or
    /// the only one.
    static func names(in folder: URL) throws(ModelFileError) -> (all: [String], current: String) {
        let ending = ".\(versionPathExtension)"
        let names = try ModelFileSystem.names(in: folder).filter { $0.hasSuffix(ending) }.map {
            String($0.dropLast(ending.count))
        }.sorted()
        let list = names.map { "'\($0)\(ending)'" }.joined(separator: ", ")
        guard let first = names.first else {
            throw ModelFileError(path: folder.path, .missingContents, "the folder contains no file NAME\(ending)")
        }
        let listURL = folder.appending(path: listName)
        guard ModelFileSystem.item(at: listURL) != .nothing else {
            guard names.count == 1 else {
                throw ModelFileError(
                    path: folder.path, .currentVersion,
                    "the folder does not say which version is the current one: \(list); name it in '\(listName)'")
            }
            return (names, first)
        }
        guard let name = try currentName(listURL) else {
            throw ModelFileError(
                path: listURL.path, .currentVersion,
                "the key '\(currentKey)' has no text; it must name a version")
        }
        guard names.contains(name) else {
            throw ModelFileError(
                path: listURL.path, .currentVersion,
                "the current version '\(name)' does not exist; the versions are \(list)")
        }
        return (names, name)
    }

    /// The name in the property list, which is XML or binary.
    private static func currentName(_ url: URL) throws(ModelFileError) -> String? {
        let bytes = Array(try ModelFileSystem.bytes(of: url))
        guard bytes.starts(with: Array("bplist".utf8)) else {
            return try PropertyListFile(bytes, at: url).text(for: currentKey)
        }
        let list: BinaryPropertyList
        do {
            list = try BinaryPropertyList(bytes)
        } catch {
            throw ModelFileError(path: url.path, .malformedArchive, "byte \(error.byteOffset): \(error.message)")
        }
        guard case .dictionary(let keys, let values) = list.objects[list.top] else { return nil }
        for (key, value) in zip(keys, values) where list.objects[key] == .string(currentKey) {
            if case .string(let name) = list.objects[value] { return name }
        }
        return nil
    }
}
