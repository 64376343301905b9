// Keyed archives and binary property lists made by hand, for models with features that no real archive here has.

import Foundation

/// Builds a binary property list of an archive, object by object.
struct ArchiveBuilder {
    /// A value in the list.
    indirect enum Item {
        case null
        case boolean(Bool)
        case integer(Int64)
        case real(Double)
        case text(String)
        case data([UInt8])
        case reference(Int)
        case array([Item])
        /// An array that names one object this many times.
        case copies(Item, Int)
        case dictionary([(String, Item)])
    }

    /// The archive's objects; the first one is the null object.
    private var objects: [Item] = [.text("$null")]
    private var classes: [String: Int] = [:]

    /// Adds an object; returns a reference to it.
    mutating func add(_ item: Item) -> Item {
        objects.append(item)
        return .reference(objects.count - 1)
    }

    /// Adds an object of a class; returns a reference to it.
    mutating func add(_ className: String, _ fields: [(String, Item)]) -> Item {
        if classes[className] == nil {
            guard case .reference(let number) = add(.dictionary([("$classname", .text(className))])) else {
                return .null
            }
            classes[className] = number
        }
        return add(.dictionary(fields + [("$class", .reference(classes[className] ?? 0))]))
    }

    /// Adds an array; returns a reference to it.
    mutating func list(_ items: [Item]) -> Item { add("NSArray", [("NS.objects", .array(items))]) }

    /// Adds a dictionary with texts as keys; returns a reference to it.
    mutating func map(_ entries: [(String, Item)]) -> Item {
        let keys = entries.map { add(.text($0.0)) }
        return add("NSDictionary", [("NS.keys", .array(keys)), ("NS.objects", .array(entries.map(\.1)))])
    }

    /// The bytes of the archive of the object that `root` refers to.
    func archive(_ root: Item) -> Data {
        Self.bytes(
            .dictionary([
                ("$version", .integer(100_000)), ("$archiver", .text("NSKeyedArchiver")),
                ("$top", .dictionary([("root", root)])), ("$objects", .array(objects)),
            ]))
    }

    /// The bytes of a binary property list.
    static func bytes(_ item: Item) -> Data {
        var list: [[UInt8]] = []
        let top = encode(item, into: &list)
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in list {
            offsets += number(bytes.count, 4)
            bytes += object
        }
        let table = bytes.count
        bytes += offsets
        bytes += [0, 0, 0, 0, 0, 0, 4, 4]
        for value in [list.count, top, table] { bytes += number(value, 8) }
        return Data(bytes)
    }

    private static func encode(_ item: Item, into list: inout [[UInt8]]) -> Int {
        let bytes: [UInt8]
        switch item {
        case .null: bytes = [0x00]
        case .boolean(let value): bytes = [value ? 0x09 : 0x08]
        case .integer(let value): bytes = [0x13] + number(Int(value), 8)
        case .real(let value): bytes = [0x23] + number(Int(Int64(bitPattern: value.bitPattern)), 8)
        case .text(let text) where text.utf8.count == text.utf16.count: bytes = head(5, text.utf8.count) + text.utf8
        case .text(let text): bytes = head(6, text.utf16.count) + text.utf16.flatMap { number(Int($0), 2) }
        case .data(let data): bytes = head(4, data.count) + data
        case .reference(let number): bytes = [0x83] + Self.number(number, 4)
        case .array(let items):
            let numbers = items.map { encode($0, into: &list) }
            bytes = head(10, items.count) + numbers.flatMap { number($0, 4) }
        case .copies(let item, let count):
            let reference = number(encode(item, into: &list), 4)
            bytes = head(10, count) + Array(repeatElement(reference, count: count).joined())
        case .dictionary(let entries):
            let keys = entries.map { encode(.text($0.0), into: &list) }
            let values = entries.map { encode($0.1, into: &list) }
            bytes = head(13, entries.count) + (keys + values).flatMap { number($0, 4) }
        }
        list.append(bytes)
        return list.count - 1
    }

    private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 15, 0x12] + number(count, 4)
    }

    private static func number(_ value: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - $0))) }
    }
}
