// A model file as a value: everything that it says, in its order.
//
// Invariants
//   1. A document that was read consists of known elements at their places, with known values; attributes of unknown
//      names are kept as they are.
//   2. Reading what was written gives an equal document. Comments and white space between elements are not kept.
// Not here: what the document means (Conversion); folders and versions (Files).

public import FoundationEssentials
import EspalierModel

/// What one model file says.
///
/// A document is the file's mirror: all elements and attributes, in their order. ``ModelDocument/conversion()`` makes
/// descriptions of it, and ``ModelDocument/init(_:path:)`` makes the document of a model.
public struct ModelDocument: Sendable {
    /// The element `model`, which has all others in it.
    public var root: ModelElement
    /// Where it was read, for the messages of errors.
    public let path: String

    /// A document made in code.
    ///
    /// - Parameters:
    ///   - root: The element `model`.
    ///   - path: What messages call the document.
    public init(root: ModelElement, path: String = "the model document") {
        (self.root, self.path) = (root, path)
    }

    /// Reads the XML of a model file.
    ///
    /// - Parameters:
    ///   - xml: The bytes of the file `contents`.
    ///   - path: What messages call the file.
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
            let problems = (reader.problems + checker.problems).enumerated().sorted {
                ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset)
            }
            throw ModelFileError(path: path, problems: problems.map(\.element))
        }
        self.init(root: root, path: path)
    }

    /// The greatest file that is read, in bytes; the files of large applications have less than 1 MiB.
    static let byteCountMax = 16 << 20

    static func tooLarge(path: String, byteCount: Int) -> ModelFileError {
        ModelFileError(
            path: path, .tooLarge, "the file has \(byteCount) bytes; model files have at most \(byteCountMax)")
    }

    /// The elements that describe entities.
    public var entities: [ModelElement] { root.children(.entity) }

    /// The element of the entity called `name`.
    public func entity(named name: String) -> ModelElement? {
        root.children.first { $0.kind == .entity && $0["name"] == name }
    }
}

extension ModelDocument: Hashable {
    /// Whether both say the same, wherever they were read.
    public static func == (left: ModelDocument, right: ModelDocument) -> Bool { left.root == right.root }

    /// Hashes what the document says.
    public func hash(into hasher: inout Hasher) { hasher.combine(root) }
}

/// Turns XML into elements of a model file, and notes what has no place in one.
private struct ModelElementReader {
    private(set) var problems: [ModelFileError.Problem] = []

    mutating func root(_ element: XMLElement) -> ModelElement? {
        guard element.name == ModelElement.Kind.model.rawValue else {
            problems.append(
                ModelFileError.Problem(
                    .unknownElement, line: element.line,
                    "the top element is '\(element.name.shortened)'; that of a model file is 'model'"))
            return nil
        }
        return read(element, as: .model)
    }

    /// The depth of XML is limited, so recursion is.
    private mutating func read(_ element: XMLElement, as kind: ModelElement.Kind) -> ModelElement {
        var result = ModelElement(
            kind, element.attributes.map { .init($0.name, $0.value) }, children: [], line: element.line)
        if !element.text.utf8.allSatisfy(\.isXMLSpace) {
            report(element.line, result.label, "there is text in it, and model files have none; remove the text")
        }
        for child in element.children {
            if let childKind = ModelElement.Kind(rawValue: child.name) {
                result.children.append(read(child, as: childKind))
            } else {
                let names = kind.rule.children.map(\.rawValue).sorted()
                let hint = NameSuggestion.nearest(to: child.name, among: names).map { ": did you mean '\($0)'?" } ?? ""
                let right = names.isEmpty ? "nothing can be in it" : "in it can be \(names.joined(separator: ", "))"
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
    /// The text, or its beginning if it is too long for a message.
    var shortened: String { count <= 80 ? self : prefix(80) + "…" }
}
