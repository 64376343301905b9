// Everything that can be wrong with a model file, with file, line and element.
//
// Invariants
//   1. Nothing that reads, converts or writes model files throws anything else.
//   2. Each problem says what is wrong and what would be right; problems come in the order of the file.

/// Why a model file cannot be read, converted or written, with all the reasons that were found.
public struct ModelFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kinds of problems that programs tell apart.
    public enum Kind: Equatable, Sendable {
        /// There is nothing at the path.
        case notFound
        /// At the path is a folder where a file has to be, a file where a folder has to be, or neither.
        case wrongKindOfFile
        /// The folder of a model has no file `contents`, or the folder of versions has no version.
        case missingContents
        /// The system refused to read or write.
        case inaccessible
        /// The file, or the model in it, is greater than what is read.
        case tooLarge
        /// The text breaks the rules of XML.
        case malformedXML
        /// The bytes are no archive of a compiled model.
        case malformedArchive
        /// A model file has no such element, or not at this place.
        case unknownElement
        /// An element lacks an attribute that it needs.
        case missingAttribute
        /// An attribute has a value that it cannot have, such as an unknown type.
        case invalidValue
        /// Which version is the current one is said twice, or not at all.
        case currentVersion
        /// The model does not hold together: a name that does not exist, an inheritance that goes round, a name twice.
        case invalidModel
        /// The model is another one than the one that a reference means.
        case otherVersion
        /// The model needs something that Espalier does not do.
        case unsupported(ModelFeature)
        /// A model file has no words for a part of the model.
        case inexpressible
    }

    /// One reason.
    public struct Problem: Equatable, Sendable, CustomStringConvertible {
        /// What kind of problem it is.
        public let kind: Kind
        /// The line in the file, from 1; `nil` if the problem is none of one line.
        public let line: Int?
        /// The element, such as `entity 'Person', attribute 'name'`; `nil` if the problem is none of one element.
        public let element: String?
        /// What is wrong and what would be right.
        public let message: String

        init(_ kind: Kind, line: Int? = nil, element: String? = nil, _ message: String) {
            (self.kind, self.line, self.element, self.message) = (kind, line, element, message)
        }

        /// `line 12: entity 'Person': message`.
        public var description: String {
            (line.map { "line \($0): " } ?? "") + (element.map { "\($0): " } ?? "") + message
        }
    }

    /// The file or folder.
    public let path: String
    /// The reasons, at least one.
    public let problems: [Problem]

    init(path: String, problems: [Problem]) { (self.path, self.problems) = (path, problems) }

    init(path: String, _ kind: Kind, line: Int? = nil, _ message: String) {
        self.init(path: path, problems: [Problem(kind, line: line, message)])
    }

    /// All reasons, one a line if there are several.
    public var description: String { "\(path): \(reasons)" }

    /// The reasons without the path, one a line if there are several.
    package var reasons: String {
        guard problems.count > 1 else { return problems.first?.description ?? "" }
        return "\(problems.count) problems:\n" + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
