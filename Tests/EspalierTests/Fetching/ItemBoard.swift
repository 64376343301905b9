// Items with attributes of all types in boxes, in one store or in two, and the same items as plain values.
//
// Invariants
//   1. An item has the store of its box, and a serial number that no other item has.
//   2. Plain values are compared by nothing of the library: texts and URIs by their UTF-8, UUIDs by their bytes.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport

/// A value that plain items are compared and sorted by.
enum PlainOrder: Comparable {
    /// No value, which precedes all others.
    case missing
    case number(Double)
    case bytes([UInt8])

    static func < (left: PlainOrder, right: PlainOrder) -> Bool {
        switch (left, right) {
        case (.number(let left), .number(let right)): left < right
        case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
        case (.missing, .number), (.missing, .bytes): true
        default: false
        }
    }
}

/// An item as plain values.
struct PlainItem {
    let serial: Int
    let isTool: Bool
    let store: Int
    /// By the path of the attribute; nothing for null.
    var values: [String: PlainOrder] = [:]
    var box: Int?
}

/// The items of a board that some context sees.
struct PlainBoard {
    var items: [PlainItem] = []
    /// By box.
    var sizes: [Int] = []

    func members(_ item: PlainItem) -> [PlainItem] {
        guard let box = item.box else { return [] }
        return items.filter { $0.box == box }
    }

    /// The value at the end of a path.
    func value(_ path: String, of item: PlainItem) -> PlainOrder {
        switch path {
        case "serial": .number(Double(item.serial))
        case "box.size", "boxSize": item.box.map { PlainOrder.number(Double(sizes[$0])) } ?? .missing
        case "box.itemCount": item.box == nil ? .missing : .number(Double(members(item).count))
        case "plain":
            if case .bytes(let text)? = item.values["text"] { .bytes(ItemBoard.folded(text)) } else { .missing }
        default: item.values[path] ?? .missing
        }
    }
}

/// The stores of a board.
final class ItemBoard {
    enum Place: CaseIterable {
        case tree, binaryFile
        /// A tree and a store in memory.
        case two
    }

    typealias Domain = [(stored: AttributeValue, plain: PlainOrder)]

    static let boxCount = 6

    /// The values that items have, by the paths of attributes.
    static let domains: [String: Domain] = [
        "number": numbers([-1, 0, 1, 2, 3]) { .integer(Int64($0)) },
        "real": numbers([-1, 0, 0.5, .infinity]) { .double($0) },
        "ratio": numbers([-2, 0.25, 3]) { .float(Float($0)) },
        "price": numbers([-2, 0, 1.5]) { .decimal(Decimal(Int($0 * 10)) / 10) },
        "day": numbers([-1.5, 0, 86_400]) { .date(Date(timeIntervalSinceReferenceDate: $0)) },
        "flag": numbers([0, 1]) { .boolean($0 == 1) },
        "part.x": numbers([0, 1, 2]) { .integer(Int64($0)) },
        "text": texts, "bytes": binaries, "blob": blobs, "code": codes, "link": links,
    ]
    private static let texts = domain(["", "ann", "\u{C4}nn", "bo", "B\u{F3}"], { .string($0) }, bytes(of:))
    private static let binaries = domain(lists, { .binary(Data($0)) }, PlainOrder.bytes)
    private static let blobs = domain(lists, { .transformable(Data($0)) }, PlainOrder.bytes)
    private static let codes = domain(
        [0, 0x7F, 0xFF] as [UInt8], { .uuid(UUID(uuid: uuid(from: $0))) }, { .bytes(bytes(from: $0)) })
    private static let links = domain(
        ["https://a.example/1", "https://a.example/10", "https://b.example/"],
        { .uri(URL(string: $0) ?? URL(fileURLWithPath: "/")) }, bytes(of:))
    private static let lists: [[UInt8]] = [[], [0], [0, 255], [1]]

    private static func domain<Value>(
        _ values: [Value], _ stored: (Value) -> AttributeValue, _ plain: (Value) -> PlainOrder
    ) -> Domain {
        values.map { (stored: stored($0), plain: plain($0)) }
    }

    private static func bytes(of text: String) -> PlainOrder { .bytes(Array(text.utf8)) }

    /// The bytes of a UUID that begins with a byte.
    private static func bytes(from first: UInt8) -> [UInt8] { [first] + Array(repeating: 0, count: 14) + [1] }

    private static func uuid(from first: UInt8) -> uuid_t { (first, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) }

    private static func numbers(_ numbers: [Double], _ stored: (Double) -> AttributeValue) -> Domain {
        domain(numbers, stored, PlainOrder.number)
    }

    /// A text of the domain without case and accents.
    static func folded(_ text: [UInt8]) -> [UInt8] {
        switch String(decoding: text, as: UTF8.self) {
        case "\u{C4}nn": Array("ann".utf8)
        case "B\u{F3}": Array("bo".utf8)
        default: text
        }
    }

    private static let item = EntityDescription(
        "Item",
        attributes: [
            AttributeDescription("serial", .integer32, isOptional: false),
            AttributeDescription("number", .integer64, isIndexed: true), AttributeDescription("real", .double),
            AttributeDescription("ratio", .float), AttributeDescription("price", .decimal, isIndexed: true),
            AttributeDescription("day", .date), AttributeDescription("flag", .boolean),
            AttributeDescription("text", .string, isIndexed: true), AttributeDescription("bytes", .binary),
            AttributeDescription("blob", .transformable), AttributeDescription("code", .uuid, isIndexed: true),
            AttributeDescription("link", .uri),
            AttributeDescription("part", .composite, elements: [AttributeDescription("x", .integer16)]),
            AttributeDescription("plain", .string, isIndexed: true, derivation: .canonical(of: "text")),
            AttributeDescription("boxSize", .integer32, derivation: .value(of: "box.size")),
        ],
        relationships: [RelationshipDescription("box", to: "Box", inverse: "items")],
        uniquenessConstraints: [["serial"]], indexes: [.init("byPart", on: [.init("part.x"), .init("number")])])

    private static let box = EntityDescription(
        "Box",
        attributes: [
            AttributeDescription("name", .integer16), AttributeDescription("size", .integer32, isIndexed: true),
            AttributeDescription("itemCount", .integer64, isIndexed: true, derivation: .count(of: "items")),
        ],
        relationships: [RelationshipDescription("items", to: "Item", inverse: "box", .ordered)])

    let stores: [any PersistentStore]
    private let coordinator: PersistentStoreCoordinator

    init(_ place: Place) throws {
        let model = try ManagedObjectModel(
            entities: [Self.item, EntityDescription("Tool", superentity: "Item"), Self.box])
        switch place {
        case .tree: stores = [try BTreeStore.inMemory(model: model, options: .small)]
        case .binaryFile:
            let file = try GraphFile("/store", BinaryGraphFormat(), in: MemoryFileSystem())
            stores = [try WholeGraphStore(file, type: .binary, model: model)]
        case .two: stores = [try BTreeStore.inMemory(model: model, options: .small), InMemoryStore(model: model)]
        }
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        for store in stores { coordinator.add(store) }
        let context = newContext()
        for number in 0..<Self.boxCount {
            let box = try context.insertNewObject(forEntityName: "Box")
            try box.setValue(.integer(Int64(number)), forKey: "name")
            try box.setValue(.integer(Int64(number)), forKey: "size")
            try context.assign(box, to: stores[number % stores.count])
        }
        try context.save()
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }
}

/// A condition on items, and the same in terms of plain values.
struct ItemCondition {
    typealias Operator = FetchPredicate.Comparison.Operator

    let predicate: FetchPredicate
    let holds: (PlainItem, PlainBoard) -> Bool

    /// The paths to single values that have an order.
    static let paths =
        ItemBoard.domains.keys.filter { $0 != "blob" }.sorted() + [
            "serial", "plain", "boxSize", "box.size", "box.itemCount",
        ]

    init(_ predicate: FetchPredicate, _ holds: @escaping (PlainItem, PlainBoard) -> Bool) {
        (self.predicate, self.holds) = (predicate, holds)
    }

    init(_ random: inout SeededGenerator) throws {
        guard Int.random(in: 0..<3, using: &random) == 0 else {
            self = try Self.single(&random)
            return
        }
        let (left, right) = (try Self.single(&random), try Self.single(&random))
        switch Int.random(in: 0..<3, using: &random) {
        case 0: self.init(.and([left.predicate, right.predicate])) { left.holds($0, $1) && right.holds($0, $1) }
        case 1: self.init(.or([left.predicate, right.predicate])) { left.holds($0, $1) || right.holds($0, $1) }
        default: self.init(.not(left.predicate)) { !left.holds($0, $1) }
        }
    }

    private static func single(_ random: inout SeededGenerator) throws -> ItemCondition {
        let number = Int.random(in: 0...3, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            return ItemCondition(try FetchPredicate(format: "ANY box.items.number == %d", number)) { item, board in
                board.members(item).contains { $0.values["number"] == .number(Double(number)) }
            }
        case 1:
            return ItemCondition(try FetchPredicate(format: "NONE box.items.flag == YES")) { item, board in
                !board.members(item).contains { $0.values["flag"] == .number(1) }
            }
        case 2:
            return ItemCondition(try FetchPredicate(format: "box.items.@count > %d", number)) { item, board in
                board.members(item).count > number
            }
        case 3:
            let format = "SUBQUERY(box.items, $i, $i.plain == 'ann' OR $i.part.x == %d).@count > 0"
            return ItemCondition(try FetchPredicate(format: format, number)) { item, board in
                board.members(item).contains { member in
                    board.value("plain", of: member) == .bytes(Array("ann".utf8))
                        || member.values["part.x"] == .number(Double(number))
                }
            }
        case 4: return ItemCondition(try FetchPredicate(format: "box == nil")) { item, _ in item.box == nil }
        case 5:
            return ItemCondition(try FetchPredicate(format: "text BEGINSWITH[cd] 'AN'")) { item, board in
                board.value("plain", of: item) == .bytes(Array("ann".utf8))
            }
        case 6:
            let path = (paths + ["blob"]).randomElement(using: &random) ?? "blob"
            let predicate = FetchPredicate.comparison(.init(keyPath(path), .equal, .value(.null)))
            return ItemCondition(predicate) { item, board in board.value(path, of: item) == .missing }
        default: return comparison(&random)
        }
    }

    private static func keyPath(_ path: String) -> FetchExpression {
        .keyPath(FetchKeyPath(path.split(separator: ".").map(String.init)))
    }

    /// A comparison of a value with constants.
    private static func comparison(_ random: inout SeededGenerator) -> ItemCondition {
        let path = (paths + ["blob"]).randomElement(using: &random) ?? "blob"
        let domain =
            path == "plain"
            ? ItemBoard.domains["text"] : ItemBoard.domains[path] ?? ItemBoard.domains["number"]
        guard let constants = domain?.shuffled(using: &random), let first = constants.first else {
            preconditionFailure("there are no values of \(path)")
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            let list = FetchExpression.list(constants.prefix(2).map { .value($0.stored) })
            let plain = constants.prefix(2).map(\.plain)
            return ItemCondition(.comparison(.init(keyPath(path), .in, list))) { item, board in
                plain.contains(board.value(path, of: item))
            }
        }
        let hasOrder = path != "blob" && path != "flag"
        let operators: [Operator] =
            hasOrder ? [.equal, .equal, .notEqual, .lessThan, .greaterThan] : [.equal, .notEqual]
        let operation = operators.randomElement(using: &random) ?? .equal
        let predicate = FetchPredicate.comparison(.init(keyPath(path), operation, .value(first.stored)))
        return ItemCondition(predicate) { item, board in
            let value = board.value(path, of: item)
            return switch operation {
            case .equal: value == first.plain
            case .notEqual: value != first.plain
            case .lessThan: value != .missing && value < first.plain
            default: value > first.plain
            }
        }
    }
}
