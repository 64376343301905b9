// Model documents in files: folders `NAME.xcdatamodel` with a file `contents`, and folders of versions.

public import FoundationEssentials

extension ModelDocument {
    /// The name of the file in the folder of a model.
    static let contentsName = "contents"

    /// Reads a model file.
    ///
    /// - Parameter url: A folder `NAME.xcdatamodel`; a folder `NAME.xcdatamodeld`, of which the current version is
    ///   read; or the file `contents` itself.
    /// - Throws: `ModelFileError` with all that is wrong.
    public init(contentsOf url: URL) throws(ModelFileError) {
        guard ModelFileSystem.item(at: url) == .folder else {
            try self.init(contents: url)
            return
        }
        let hasContents = ModelFileSystem.item(at: url.appending(path: Self.contentsName)) != .nothing
        if !hasContents, url.pathExtension == ModelVersions.pathExtension || ModelVersions.isFolderOfVersions(url) {
            self = try ModelVersions(contentsOf: url).document()
        } else {
            try self.init(folder: url)
        }
    }

    /// Reads the file in the folder of one model; a folder of versions is none.
    init(folder url: URL) throws(ModelFileError) {
        let contents = url.appending(path: Self.contentsName)
        if ModelFileSystem.item(at: url) == .folder, ModelFileSystem.item(at: contents) == .nothing {
            throw ModelFileError(
                path: url.path, .missingContents,
                "the folder has no file '\(Self.contentsName)'; that of a model has one, or holds versions")
        }
        try self.init(contents: contents)
    }

    private init(contents url: URL) throws(ModelFileError) {
        let bytes = try ModelFileSystem.bytes(of: url)
        guard bytes.first != UInt8(ascii: "b") || !bytes.starts(with: Array("bplist".utf8)) else {
            throw ModelFileError(
                path: url.path, .malformedXML,
                "this is a compiled model (.mom); read the model file that it was compiled of")
        }
        try self.init(xml: bytes, path: url.path)
    }

    /// Writes the document as the folder of a model, `NAME.xcdatamodel`.
    ///
    /// - Throws: `ModelFileError` if the document cannot be written as XML, or the system refuses.
    public func write(to url: URL) throws(ModelFileError) {
        try ModelFileSystem.write(try xml(), to: url.appending(path: Self.contentsName))
    }
}
