// Compiled models, `NAME.mom`: keyed archives of Core Data's model.

public import FoundationEssentials

extension ModelDocument {
    /// Reads a compiled model, as Core Data archives it.
    ///
    /// The compiler drops data that only the editor needs, and the order of entities and properties. Rules of
    /// attributes that the editor can express are read, as are the limits of relationships; all others are kept as
    /// text, and making a model of the document is refused with ``ModelFeature/validationRules``. Requests,
    /// configurations, expressions of derived attributes, and conditions and expressions of indexes are not read
    /// (MD-02): a model with one of them is refused with the feature that the article on model files names. Fields that
    /// this reader does not know are kept by name, and refused with ``ModelFeature/unknownAttributes``.
    ///
    /// - Parameters:
    ///   - compiled: The bytes of the file.
    ///   - path: The name of the file in messages.
    /// - Throws: `ModelFileError` if the bytes are not an archive of a model, or exceed a limit.
    /// - Complexity: O(bytes).
    public init(compiled: Data, path: String = "the compiled model") throws(ModelFileError) {
        guard compiled.count <= Self.byteCountMax else { throw Self.tooLarge(path: path, byteCount: compiled.count) }
        let list: BinaryPropertyList
        do {
            list = try BinaryPropertyList(Array(compiled))
        } catch {
            throw ModelFileError(path: path, .malformedArchive, "byte \(error.byteOffset): \(error.message)")
        }
        guard let archive = KeyedArchive(list) else {
            throw ModelFileError(path: path, .malformedArchive, "the property list is not a keyed archive")
        }
        var reader = CompiledModelReader(archive)
        guard let root = reader.root(), reader.problems.isEmpty else {
            guard reader.problems.isEmpty else { throw ModelFileError(path: path, problems: reader.problems) }
            throw ModelFileError(
                path: path, .malformedArchive,
                "the archive does not contain a model; name a model that Core Data's compiler made")
        }
        // An archive may name one long text a million times; as a file each of them takes its own space.
        guard root.textByteCount <= Self.byteCountMax else {
            throw ModelFileError(
                path: path, .tooLarge,
                "the texts of the model have \(root.textByteCount) bytes together; a model file can have at most "
                    + "\(Self.byteCountMax)")
        }
        var checker = ModelElementChecker()
        checker.check(root)
        guard checker.problems.isEmpty else { throw ModelFileError(path: path, problems: checker.problems) }
        self.init(root: root, path: path)
        // Names and texts of an archive may be any; those of a document can be written as a model file.
        do throws(ModelFileError) {
            _ = try xml()
        } catch {
            throw ModelFileError(
                path: path,
                problems: error.problems.map {
                    .init(.malformedArchive, element: $0.element, "\($0.message); compile the model again")
                })
        }
    }
}

extension ModelElement {
    /// The length of all names and values of attributes, of this element and those below.
    fileprivate var textByteCount: Int {
        let own = attributes.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        return children.reduce(own) { $0 + $1.textByteCount }
    }
}
