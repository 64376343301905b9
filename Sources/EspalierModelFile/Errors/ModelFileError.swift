// The errors of model files, with file, line and element.
//
// Invariants
//   1. All code that reads, converts or writes model files throws only this error.
//   2. Each problem says what is wrong and what would be right; problems are in file order.

/// The reasons why a model file cannot be read, converted or written, all those that were found.
public struct ModelFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kinds of problems that programs distinguish.
    public enum Kind: Equatable, Sendable {
        /// The path does not exist.
        case notFound
        /// The item at the path is a folder where a file is required, a file where a folder is required, or neither.
        case wrongKindOfFile
        /// The folder of a model has no file `contents`, or the folder of versions has no version.
        case missingContents
        /// The operating system refused to read or write.
        case inaccessible
        /// The file or its model exceeds a limit.
        case tooLarge
        /// The text breaks the rules of XML.
        case malformedXML
        /// The bytes are not an archive of a compiled model.
        case malformedArchive
        /// Model files do not have this element, or not at this place.
        case unknownElement
        /// An element lacks a required attribute.
        case missingAttribute
        /// An attribute has an invalid value, such as an unknown type.
        case invalidValue
        /// The current version is named twice, or not at all.
        case currentVersion
        /// The model is inconsistent: an unknown name, a cycle of inheritance, a duplicate name.
        case invalidModel
        /// The model is not the one that a reference expects.
        case otherVersion
        /// The model uses a feature that Espalier does not support.
        case unsupported(ModelFeature)
        /// Model files cannot express a part of the model.
        case inexpressible
    }

    /// One reason.
    public struct Problem: Equatable, Sendable, CustomStringConvertible {
        /// The kind of the problem.
        public let kind: Kind
        /// The line in the file, from 1; `nil` if the problem does not belong to one line.
        public let line: Int?
        /// The element, such as `entity 'Person', attribute 'name'`; `nil` if the problem does not belong to one
        /// element.
        public let element: String?
        /// A sentence that says what is wrong and what would be right.
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

    /// The path and all reasons; one per line if there are several.
    public var description: String { "\(path): \(reasons)" }

    /// The reasons without the path; one per line if there are several.
    package var reasons: String {
        guard problems.count > 1 else { return problems.first?.description ?? "" }
        return "\(problems.count) problems:\n" + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
