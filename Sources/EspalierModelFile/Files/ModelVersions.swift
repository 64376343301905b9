// The versions of a model in one folder, `NAME.xcdatamodeld` or `NAME.momd`, and the choice of the current one.
//
// Invariants
//   1. There is at least one version, and the current version is one of them.

public import FoundationEssentials

/// A folder with the versions of one model.
public struct ModelVersions: Sendable {
    /// The path extension of such folders.
    static let pathExtension = "xcdatamodeld"
    /// The path extension of the folder of one version.
    static let versionPathExtension = "xcdatamodel"
    /// The file that names the current version; `currentKey` is the key in it.
    private static let currentFileName = ".xccurrentversion"
    private static let currentKey = "_XCCurrentVersionName"

    /// The folder.
    public let url: URL
    /// The names of all versions, ascending.
    public let names: [String]
    /// The name of the current version.
    public let currentName: String
    /// Whether the versions are compiled models.
    private let isCompiled: Bool

    /// Lists the versions in a folder without reading any.
    ///
    /// If no file names the current version, it is the only version, or, unless the versions are compiled, the one with
    /// the name of the folder.
    ///
    /// - Parameter url: A folder `NAME.xcdatamodeld`, or one of compiled versions, `NAME.momd`.
    /// - Throws: `ModelFileError` if there is no version, or no current one.
    public init(contentsOf url: URL) throws(ModelFileError) {
        switch ModelFileSystem.item(at: url) {
        case .folder: break
        case .nothing: throw ModelFileError(path: url.path, .notFound, "the folder does not exist")
        case .file, .other:
            throw ModelFileError(
                path: url.path, .wrongKindOfFile, "this is a file; name the folder with the versions of a model")
        }
        isCompiled = url.pathExtension == CompiledVersions.pathExtension
        guard !isCompiled else {
            (self.names, currentName) = try CompiledVersions.names(in: url)
            self.url = url
            return
        }
        let ending = "." + Self.versionPathExtension
        let names = try ModelFileSystem.names(in: url).filter { $0.hasSuffix(ending) }.map {
            String($0.dropLast(ending.count))
        }.sorted()
        guard let first = names.first else {
            throw ModelFileError(
                path: url.path, .missingContents, "the folder contains no version; a version is a folder NAME\(ending)")
        }
        let list = names.map { "'\($0)'" }.joined(separator: ", ")
        if let current = try Self.current(in: url, ending: ending) {
            guard names.contains(current) else {
                throw ModelFileError(
                    path: url.appending(path: Self.currentFileName).path, .currentVersion,
                    "the current version '\(current)' does not exist; the versions are \(list)")
            }
            currentName = current
        } else if names.count == 1 {
            currentName = first
        } else {
            let own = url.deletingPathExtension().lastPathComponent
            guard names.contains(own) else {
                throw ModelFileError(
                    path: url.path, .currentVersion,
                    "the folder does not say which version is the current one: \(list); name it in "
                        + "'\(Self.currentFileName)'"
                )
            }
            currentName = own
        }
        (self.url, self.names) = (url, names)
    }

    /// Reads one version; the current one if `name` is `nil`.
    public func document(named name: String? = nil) throws(ModelFileError) -> ModelDocument {
        let name = name ?? currentName
        guard names.contains(name) else {
            let list = names.map { "'\($0)'" }.joined(separator: ", ")
            throw ModelFileError(
                path: url.path, .notFound, "the version '\(name)' does not exist; the versions are \(list)")
        }
        let version = versionURL(named: name)
        return try isCompiled ? ModelDocument(contentsOf: version) : ModelDocument(folder: version)
    }

    /// The folder or the file of the version called `name`.
    func versionURL(named name: String) -> URL {
        let ending = isCompiled ? CompiledVersions.versionPathExtension : Self.versionPathExtension
        return url.appending(path: "\(name).\(ending)")
    }

    /// Writes versions of a model to a folder.
    ///
    /// Existing versions with other names stay in the folder.
    ///
    /// - Parameters:
    ///   - documents: The versions with their names.
    ///   - currentName: The name of the current version, one of `documents`.
    ///   - url: The folder, `NAME.xcdatamodeld`.
    /// - Throws: `ModelFileError`; before anything is written if two versions have one name, or if a name or a document
    ///   cannot be expressed. The current version is changed last, after all versions are written.
    public static func write(
        _ documents: [(name: String, document: ModelDocument)], current currentName: String, to url: URL
    ) throws(ModelFileError) {
        guard documents.contains(where: { $0.name == currentName }) else {
            throw ModelFileError(
                path: url.path, .currentVersion, "the current version '\(currentName)' is not among the versions")
        }
        var names: Set<String> = []
        var versions: [(folder: URL, contents: Data)] = []
        for (name, document) in documents {
            guard !name.isEmpty, !name.contains("/"), name.unicodeScalars.allSatisfy(\.isXMLCharacter) else {
                throw ModelFileError(path: url.path, .inexpressible, "'\(name)' cannot be the name of a folder")
            }
            guard names.insert(name).inserted else {
                throw ModelFileError(
                    path: url.path, .inexpressible, "two versions are called '\(name)'; rename one of them")
            }
            versions.append((url.appending(path: "\(name).\(versionPathExtension)"), try document.xml()))
        }
        for (folder, contents) in versions {
            try ModelFileSystem.write(contents, to: folder.appending(path: ModelDocument.contentsName))
        }
        let name = "\(currentName).\(versionPathExtension)".replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>\(currentKey)</key>
            \t<string>\(name)</string>
            </dict>
            </plist>

            """
        try ModelFileSystem.write(Data(text.utf8), to: url.appending(path: Self.currentFileName))
    }

    /// Whether a folder without the path extension is a folder of versions nevertheless.
    static func isFolderOfVersions(_ url: URL) -> Bool {
        if ModelFileSystem.item(at: url.appending(path: currentFileName)) != .nothing { return true }
        return ((try? ModelFileSystem.names(in: url)) ?? []).contains { $0.hasSuffix(".\(versionPathExtension)") }
    }

    /// The version that the folder's property list names; `nil` if there is no list, or no name in it.
    private static func current(in folder: URL, ending: String) throws(ModelFileError) -> String? {
        let url = folder.appending(path: currentFileName)
        guard ModelFileSystem.item(at: url) != .nothing else { return nil }
        let list = try PropertyListFile(Array(try ModelFileSystem.bytes(of: url)), at: url)
        guard let name = try list.text(for: currentKey) else { return nil }
        return name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : name
    }
}
