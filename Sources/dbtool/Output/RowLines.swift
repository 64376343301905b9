// Rows as lines of JSON, written as bytes: what `ObjectSnapshot.json` makes of a row, without a value or a text for
// each part of it.
//
// Invariants
//   1. The bytes are those of `json(of:links:)` for the same row (a test compares them).

import EspalierModel
import EspalierStore

/// Writes rows of one entity, each as one line.
struct RowLines {
    /// The lines since `removeAll`.
    private(set) var bytes: [UInt8] = []
    private let head: [UInt8]
    /// The stored attributes, each with what comes before its value.
    private let attributes: [(slot: Int, head: [UInt8])]
    /// The to-one relationships, likewise.
    private let destinations: [(slot: Int, head: [UInt8])]
    /// The bytes before each list.
    private let listHeads: [[UInt8]]
    /// By number of the entity in IDs: a quotation mark, its name and a slash.
    private var names: [UInt32: [UInt8]] = [:]

    /// - Parameter lists: the names of the to-many relationships that `append` gets.
    init(_ entity: Entity, lists: [String] = []) {
        func heads(_ names: [String], isFirst: Bool) -> [[UInt8]] {
            names.enumerated().map { position, name in
                Array(((position > 0 || !isFirst) ? "," : "").utf8) + Array(JSONValue.string(name).compact.utf8) + [58]
            }
        }
        head = Array("{\"entity\":\(JSONValue.string(entity.name).compact),\"key\":".utf8)
        let stored = entity.attributes.filter { !$0.isTransient }
        attributes = zip(stored, heads(stored.map(\.name), isFirst: true)).map { ($0.slot, $1) }
        let toOnes = entity.relationships.filter { !$0.isToMany }
        destinations = zip(toOnes, heads(toOnes.map(\.name), isFirst: true)).map { ($0.slot, $1) }
        listHeads = heads(lists, isFirst: toOnes.isEmpty)
    }

    /// Forgets the lines, and keeps the memory.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends the line of a row.
    ///
    /// - Parameter lists: the destinations of the relationships that were named.
    mutating func append(_ row: ObjectSnapshot, lists: [[ObjectID]] = []) {
        assert(lists.count == listHeads.count, "\(lists.count) of \(listHeads.count) lists")
        bytes += head
        append(row.id.key)
        bytes += ",\"version\":".utf8
        append(row.version)
        bytes += ",\"attributes\":{".utf8
        for (slot, head) in attributes {
            bytes += head
            append(row.value(at: slot))
        }
        bytes += "},\"relationships\":{".utf8
        for (slot, head) in destinations {
            bytes += head
            if let id = row.destination(at: slot) { append(id) } else { bytes += "null".utf8 }
        }
        for (head, list) in zip(listHeads, lists) {
            bytes += head
            bytes.append(UInt8(ascii: "["))
            for (position, id) in list.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                append(id)
            }
            bytes.append(UInt8(ascii: "]"))
        }
        bytes += "}}\n".utf8
    }

    private mutating func append(_ value: AttributeValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .boolean(let bit): bytes += (bit ? "true" : "false").utf8
        case .integer(let number):
            if number < 0 { bytes.append(UInt8(ascii: "-")) }
            append(number.magnitude)
        case .string(let text): append(text)
        default: bytes += value.json.compact.utf8
        }
    }

    private mutating func append(_ number: UInt64) {
        var (digits, count, rest) = (InlineArray<20, UInt8>(repeating: 0), 0, number)
        repeat {
            digits[count] = UInt8(truncatingIfNeeded: rest % 10) + UInt8(ascii: "0")
            rest /= 10
            count += 1
        } while rest > 0
        for position in (0..<count).reversed() { bytes.append(digits[position]) }
    }

    private mutating func append(_ id: ObjectID) {
        if names[id.entityTag] == nil {
            let name = JSONValue.string(id.entityName).compact.dropLast() + "/"
            names[id.entityTag] = Array(name.utf8)
        }
        bytes += names[id.entityTag] ?? []
        append(id.key)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a text in quotation marks: as it is, if nothing in it has to be escaped.
    private mutating func append(_ text: String) {
        // The lines that JavaScript sees, U+2028 and U+2029, begin with this byte; so do other characters.
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C && $0 != 0x7F && $0 != 0xE2 }
        guard isPlain else {
            bytes += JSONValue.string(text).compact.utf8
            return
        }
        bytes.append(UInt8(ascii: "\""))
        bytes += text.utf8
        bytes.append(UInt8(ascii: "\""))
    }
}
