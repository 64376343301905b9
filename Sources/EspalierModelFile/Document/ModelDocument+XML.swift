// Writes documents as XML, in the layout of the model editor's files.
//
// Invariants
//   1. The same document always gives the same bytes: the order is that of the document, each level is indented by four
//      spaces, and the file does not end with a line break.

public import FoundationEssentials

extension ModelDocument {
    /// The bytes of the file `contents`.
    ///
    /// - Throws: `ModelFileError` for a character or a name that XML does not allow.
    /// - Complexity: O(bytes).
    public func xml() throws(ModelFileError) -> Data {
        var writer = ModelXMLWriter()
        writer.write(root, depth: 0, labels: [])
        guard writer.problems.isEmpty else { throw ModelFileError(path: path, problems: writer.problems) }
        return Data(writer.text.utf8)
    }
}

private struct ModelXMLWriter {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    var problems: [ModelFileError.Problem] = []

    /// Writes an element with its children.
    ///
    /// A document that was read is at most `XMLReader.depthMax` deep; a deeper one that was made in code is refused.
    mutating func write(_ element: ModelElement, depth: Int, labels: [String]) {
        let labels = depth == 0 ? [] : labels + [element.label]
        guard depth < XMLReader.depthMax else {
            return report("elements are nested more than \(XMLReader.depthMax) deep", labels)
        }
        let indent = String(repeating: "    ", count: depth)
        text += "\(indent)<\(element.kind.rawValue)"
        for attribute in element.attributes {
            if !attribute.name.isXMLName {
                report("'\(attribute.name)' cannot be the name of an XML attribute", labels)
            }
            text += " \(attribute.name)=\""
            write(attribute, labels)
            text += "\""
        }
        guard !element.children.isEmpty else {
            text += "/>"
            return
        }
        text += ">\n"
        for child in element.children {
            write(child, depth: depth + 1, labels: labels)
            text += "\n"
        }
        text += "\(indent)</\(element.kind.rawValue)>"
    }

    private mutating func write(_ attribute: ModelElement.Attribute, _ labels: [String]) {
        for scalar in attribute.value.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "\t", "\n", "\r": text += "&#\(scalar.value);"
            default:
                guard scalar.isXMLCharacter else {
                    return report(
                        "the value of '\(attribute.name)' contains the character U+\(String(scalar.value, radix: 16)), "
                            + "which XML does not allow; remove it", labels)
                }
                text.unicodeScalars.append(scalar)
            }
        }
    }

    private mutating func report(_ message: String, _ labels: [String]) {
        let element = labels.isEmpty ? nil : labels.joined(separator: ", ")
        problems.append(ModelFileError.Problem(.inexpressible, element: element, message))
    }
}

extension String {
    fileprivate var isXMLName: Bool {
        guard let first = utf8.first else { return false }
        return first.beginsXMLName && utf8.allSatisfy(\.isXMLName)
    }
}
