// Property lists in XML, to the extent that folders of versions use them: one dictionary, and a string under a key.

import FoundationEssentials

/// A property list that consists of one dictionary.
struct PropertyListFile {
    private let path: String
    private let items: [XMLElement]

    /// Parses `bytes`, which were read from `url`.
    init(_ bytes: [UInt8], at url: URL) throws(ModelFileError) {
        path = url.path
        let list: XMLElement
        do {
            list = try XMLReader.read(bytes)
        } catch {
            throw ModelFileError(
                path: url.path, error.kind == .tooLarge ? .tooLarge : .malformedXML, line: error.line, error.message)
        }
        guard list.name == "plist", list.children.count == 1, list.children[0].name == "dict" else {
            throw ModelFileError(
                path: url.path, .invalidValue, line: list.line, "this is not a property list with one dictionary")
        }
        items = list.children[0].children
    }

    /// The string under the key that names the current version; `nil` if the key is missing.
    func text(for key: String) throws(ModelFileError) -> String? {
        let keys = items.indices.filter { items[$0].name == "key" && items[$0].text == key }
        guard keys.count <= 1 else {
            throw ModelFileError(
                path: path, .currentVersion, line: items[keys[1]].line,
                "the list has \(keys.count) current versions; keep one key '\(key)'")
        }
        guard let position = keys.first else { return nil }
        guard position + 1 < items.count, items[position + 1].name == "string" else {
            throw ModelFileError(
                path: path, .currentVersion, line: items[position].line,
                "a <string> with the name of a version must follow the key '\(key)'")
        }
        return items[position + 1].text
    }
}
