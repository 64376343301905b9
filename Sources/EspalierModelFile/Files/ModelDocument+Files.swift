// Reads and writes documents on disk: folders `NAME.xcdatamodel` with a file `contents`, folders of versions, compiled
// models.

public import FoundationEssentials

extension ModelDocument {
    /// The name of the document file in the folder of a model.
    static let contentsName = "contents"

    /// Reads a model file.
    /// - Parameter url: A folder `NAME.xcdatamodel`, or the file `contents` in it; a compiled model `NAME.mom`; or a
    ///   folder of versions, `NAME.xcdatamodeld` or `NAME.momd`, of which the current version is read.
    /// - Throws: `ModelFileError` with all problems found.
    public init(contentsOf url: URL) throws(ModelFileError) {
        guard ModelFileSystem.item(at: url) == .folder else {
            try self.init(contents: url)
            return
        }
        guard url.pathExtension != CompiledVersions.pathExtension else {
            self = try ModelVersions(contentsOf: url).document()
            return
        }
        let hasContents = ModelFileSystem.item(at: url.appending(path: Self.contentsName)) != .nothing
        if !hasContents, url.pathExtension == ModelVersions.pathExtension || ModelVersions.isFolderOfVersions(url) {
            self = try ModelVersions(contentsOf: url).document()
        } else {
            try self.init(folder: url)
        }
    }

    /// Reads the file in the folder of one model; a folder of versions is refused.
    init(folder url: URL) throws(ModelFileError) {
        let contents = url.appending(path: Self.contentsName)
        if ModelFileSystem.item(at: url) == .folder, ModelFileSystem.item(at: contents) == .nothing {
            throw ModelFileError(
                path: url.path, .missingContents,
                "the folder has no file '\(Self.contentsName)' and no versions, so it is not a model")
        }
        try self.init(contents: contents)
    }

    private init(contents url: URL) throws(ModelFileError) {
        let bytes = try ModelFileSystem.bytes(of: url)
        guard !bytes.starts(with: Array("bplist".utf8)) else {
            try self.init(compiled: bytes, path: url.path)
            return
        }
        try self.init(xml: bytes, path: url.path)
    }

    /// Writes the document as the folder of a model, `NAME.xcdatamodel`.
    ///
    /// - Throws: `ModelFileError` if the document cannot be expressed as XML, or the system refuses the write.
    public func write(to url: URL) throws(ModelFileError) {
        try ModelFileSystem.write(try xml(), to: url.appending(path: Self.contentsName))
    }
}
