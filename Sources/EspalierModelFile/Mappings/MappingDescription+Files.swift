// Mapping files of the model editor: folders `NAME.xcmappingmodel` with a file `xcmapping.xml`.

public import EspalierModel
public import FoundationEssentials

extension MappingDescription {
    /// The name of the file in the folder of a mapping model.
    static let fileName = "xcmapping.xml"

    /// Reads a mapping file.
    ///
    /// The copies of both models that the file contains are not read: `MappingModel` checks names when it is used.
    ///
    /// - Parameter url: A folder `NAME.xcmappingmodel`, or the file `xcmapping.xml` in it.
    /// - Throws: `ModelFileError` with all problems found.
    /// - Complexity: O(bytes).
    public init(contentsOf url: URL) throws(ModelFileError) {
        let isFolder = ModelFileSystem.item(at: url) == .folder
        let file = isFolder ? url.appending(path: Self.fileName) : url
        guard !isFolder || ModelFileSystem.item(at: file) != .nothing else {
            throw ModelFileError(
                path: url.path, .missingContents,
                "the folder has no file '\(Self.fileName)', so it is not a mapping model")
        }
        try self.init(xml: try ModelFileSystem.bytes(of: file), path: file.path)
    }

    /// Reads the bytes of a mapping file, `xcmapping.xml`.
    ///
    /// - Parameter path: The name of the file in messages.
    /// - Throws: `ModelFileError` with all problems found.
    /// - Complexity: O(bytes).
    public init(xml: Data, path: String = "the mapping file") throws(ModelFileError) {
        guard xml.count <= ModelDocument.byteCountMax else {
            throw ModelDocument.tooLarge(path: path, byteCount: xml.count)
        }
        guard !xml.starts(with: Array("bplist".utf8)) else {
            throw ModelFileError(
                path: path, .wrongKindOfFile,
                "is a compiled mapping model, which cannot be read; pass the NAME.xcmappingmodel of which it was made")
        }
        let root: XMLElement
        do {
            root = try XMLReader.read(Array(xml))
        } catch {
            throw ModelFileError(
                path: path, error.kind == .tooLarge ? .tooLarge : .malformedXML, line: error.line, error.message)
        }
        var reader = MappingFileReader()
        let description = reader.description(of: root)
        guard reader.problems.isEmpty else { throw ModelFileError(path: path, problems: reader.problems) }
        self = description
    }
}
