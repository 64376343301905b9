// A model file as a value: its complete content, in file order.
//
// Invariants
//   1. A document that was read consists of known elements at valid places, with valid values. Attributes with unknown
//      names are kept unchanged.
//   2. Reading a written document gives an equal document. Comments and white space between elements are not kept.
// Not here: the meaning of the document (Conversion); folders and versions (Files).

public import FoundationEssentials
import EspalierModel

/// The content of one model file.
///
/// A document mirrors the file: all elements and attributes, in their order. ``ModelDocument/conversion()`` makes
/// descriptions of it, and ``ModelDocument/init(_:path:)`` makes the document of a model.
public struct ModelDocument: Sendable {
    /// The element `model`, which contains all others.
    public var root: ModelElement
    /// The path of the file, for error messages.
    public let path: String

    /// Makes a document from an element.
    ///
    /// - Parameters:
    ///   - root: The element `model`.
    ///   - path: The name of the document in messages.
    public init(root: ModelElement, path: String = "the model document") {
        (self.root, self.path) = (root, path)
    }

    /// Reads the XML of a model file.
    ///
    /// - Parameters:
    ///   - xml: The bytes of the file `contents`.
    ///   - path: The name of the file in messages.
    /// - Throws: `ModelFileError`: the first breach of XML, or every element and value that no model file has.
    /// - Complexity: O(bytes); files of more than 16 MiB, 65,536 elements or 4,096 children of one are refused.
    public init(xml: Data, path: String = "the model file") throws(ModelFileError) {
        guard xml.count <= Self.byteCountMax else { throw Self.tooLarge(path: path, byteCount: xml.count) }
        let element: XMLElement
        do {
            element = try XMLReader.read(Array(xml))
        } catch {
            throw ModelFileError(
                path: path, error.kind == .tooLarge ? .tooLarge : .malformedXML, line: error.line, error.message)
        }
        var reader = ModelElementReader()
        let root = reader.root(element)
        var checker = ModelElementChecker()
        if let root { checker.check(root) }
        guard let root, reader.problems.isEmpty, checker.problems.isEmpty else {
            // The format may be the reason for all other problems.
            let format = [root?.formatProblem].compactMap(\.self)
            let problems = (format + reader.problems + checker.problems).enumerated().sorted {
                ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset)
            }
            throw ModelFileError(path: path, problems: problems.map(\.element))
        }
        self.init(root: root, path: path)
    }

    /// The size of the largest file that is read, in bytes; the files of large applications have less than 1 MiB.
    package static let byteCountMax = 16 << 20

    static func tooLarge(path: String, byteCount: Int) -> ModelFileError {
        ModelFileError(
            path: path, .tooLarge, "the file has \(byteCount) bytes; a model file can have at most \(byteCountMax)")
    }

    /// The elements that describe entities.
    public var entities: [ModelElement] { root.children(.entity) }

    /// The element of the entity called `name`.
    public func entity(named name: String) -> ModelElement? {
        root.children.first { $0.kind == .entity && $0["name"] == name }
    }
}

extension ModelDocument: Hashable {
    /// Whether the contents are equal; paths and lines are ignored.
    public static func == (left: ModelDocument, right: ModelDocument) -> Bool { left.root == right.root }

    /// Hashes the content, not the path.
    public func hash(into hasher: inout Hasher) { hasher.combine(root) }
}

/// Converts XML to elements of a model file, and notes elements that model files do not have.
private struct ModelElementReader {
    private(set) var problems: [ModelFileError.Problem] = []

    mutating func root(_ element: XMLElement) -> ModelElement? {
        guard element.name == ModelElement.Kind.model.rawValue else {
            problems.append(
                ModelFileError.Problem(
                    .unknownElement, line: element.line,
                    "the top element is '\(element.name.shortened)'; in a model file it must be 'model'"))
            return nil
        }
        return read(element, as: .model)
    }

    /// Converts an element and its children.
    ///
    /// The recursion is bounded by `XMLReader.depthMax`.
    private mutating func read(_ element: XMLElement, as kind: ModelElement.Kind) -> ModelElement {
        var result = ModelElement(
            kind, element.attributes.map { .init($0.name, $0.value) }, children: [], line: element.line)
        if !element.text.utf8.allSatisfy(\.isXMLSpace) {
            report(
                element.line, result.label,
                "the element contains text, but elements of model files have none; remove the text")
        }
        for child in element.children {
            if let childKind = ModelElement.Kind(rawValue: child.name) {
                result.children.append(read(child, as: childKind))
            } else {
                let names = kind.rule.children.map(\.rawValue).sorted()
                let hint = NameSuggestion.nearest(to: child.name, among: names).map { "; did you mean '\($0)'?" } ?? ""
                let right =
                    names.isEmpty ? "no element is allowed here" : "allowed here are \(names.joined(separator: ", "))"
                report(
                    child.line, result.label, "the element '\(child.name.shortened)' is unknown\(hint); \(right)")
            }
        }
        return result
    }

    private mutating func report(_ line: Int, _ element: String, _ message: String) {
        guard problems.count < ModelElementChecker.problemCountMax else { return }
        problems.append(ModelFileError.Problem(.unknownElement, line: line, element: element, message))
    }
}

extension String {
    /// The text, or its first 80 characters if it is longer.
    var shortened: String {
        if utf8.count <= 80 { return self }
        // A character of a hostile text can consist of any number of scalars.
        let beginning = String(unicodeScalars.prefix(1_000)).prefix(80)
        return beginning.utf8.count == utf8.count ? self : beginning + "…"
    }
}
