// Random requests of every shape beside random unsaved changes of roots and children, in one store and in two, against
// plain values: objects, pages, batches, IDs, numbers and rows of values, on this thread and on another one, of all
// stores and of some.
//
// `ESPALIER_SHAPE_WALKS` is the number of walks for each place.

import Espalier
import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct RequestShapeWalkTests {
    private static let walkCount = campaignCount("ESPALIER_SHAPE_WALKS", default: 4)

    @Test(arguments: ItemBoard.Place.allCases)
    func `requests of every shape find what roots and children have not saved, in each store that they ask (F-3)`(
        _ place: ItemBoard.Place
    ) async throws {
        let first = testSeed(default: 92_000)
        print("ESPALIER_SEED=\(first)")
        var partialCount = 0
        for seed in (0..<UInt64(Self.walkCount)).map({ first &+ $0 }) {
            var walk = try ShapeWalk(place, seed: seed)
            for _ in 0..<2 where walk.failure == nil { try await walk.takeRound() }
            partialCount += walk.partialCount
            guard let failure = walk.failure else { continue }
            Issue.record("seed \(seed): \(failure)")
            return
        }
        #expect(partialCount > 10 * Self.walkCount, "\(partialCount) requests find a part of the items")
    }
}

private struct ShapeWalk {
    private enum Form: CaseIterable {
        case objects, pages, batches, ids, count, values
        case objectsElsewhere, idsElsewhere, countElsewhere, valuesElsewhere
    }

    private let board: ItemBoard
    private var random: SeededGenerator
    /// The items that the context which is asked next must show.
    private var plain = PlainBoard()
    private var serialCount = 0
    private(set) var failure: String?
    /// The number of requests that found some items and not all.
    private(set) var partialCount = 0

    init(_ place: ItemBoard.Place, seed: UInt64) throws {
        board = try ItemBoard(place)
        random = SeededGenerator(seed: seed)
        plain.sizes = Array(0..<ItemBoard.boxCount)
        let context = board.newContext()
        for _ in 0..<10 { try insert(context) }
        try context.save()
    }

    mutating func takeRound() async throws {
        let root = board.newContext()
        try change(root)
        try await ask(root, "unsaved in the root")
        let child = ManagedObjectContext(parent: root)
        try await ask(child, "unsaved in the parent")
        let shownByRoot = plain
        try change(child)
        try await ask(child, "unsaved in the child")
        let shownByChild = plain
        plain = shownByRoot
        try await ask(root, "unsaved in the root, beside a child")
        plain = shownByChild
        try child.save()
        try await ask(root, "saved by the child")
        try root.save()
        try await ask(root, "saved")
        try await ask(board.newContext(), "saved, in another context")
    }

    // MARK: Changes

    private mutating func change(_ context: ManagedObjectContext) throws {
        for _ in 0..<Int.random(in: 2...6, using: &random) {
            guard let place = plain.items.indices.randomElement(using: &random) else {
                try insert(context)
                continue
            }
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1: try insert(context)
            case 2:
                try context.delete(object("Item", "serial", plain.items[place].serial, context))
                plain.items.remove(at: place)
            case 3:
                let (box, size) = (
                    Int.random(in: 0..<plain.sizes.count, using: &random), Int.random(in: 0...3, using: &random)
                )
                try object("Box", "name", box, context).setValue(.integer(Int64(size)), forKey: "size")
                plain.sizes[box] = size
            case 4, 5:
                let item = try object("Item", "serial", plain.items[place].serial, context)
                try move(item, place, context)
            default:
                let item = try object("Item", "serial", plain.items[place].serial, context)
                try setValues(of: item, place)
            }
        }
    }

    private mutating func insert(_ context: ManagedObjectContext) throws {
        let isTool = Int.random(in: 0..<4, using: &random) == 0
        let store = Int.random(in: 0..<board.stores.count, using: &random)
        let item = try context.insertNewObject(forEntityName: isTool ? "Tool" : "Item")
        // Without a choice it goes to the first store.
        if store > 0 || Bool.random(using: &random) { try context.assign(item, to: board.stores[store]) }
        try item.setValue(.integer(Int64(serialCount)), forKey: "serial")
        plain.items.append(PlainItem(serial: serialCount, isTool: isTool, store: store))
        serialCount += 1
        try setValues(of: item, plain.items.count - 1)
        try move(item, plain.items.count - 1, context)
    }

    private mutating func setValues(of item: ManagedObject, _ place: Int) throws {
        for (path, domain) in ItemBoard.domains.sorted(by: { $0.key < $1.key })
        where Bool.random(using: &random) {
            let chosen = Int.random(in: 0..<6, using: &random) == 0 ? nil : domain.randomElement(using: &random)
            let value = chosen?.stored ?? .null
            if path == "part.x" {
                let part: AttributeValue = value.isNull ? .null : .composite(["x": value])
                try item.setValue(part, forKey: "part")
            } else {
                try item.setValue(value, forKey: path)
            }
            plain.items[place].values[path] = chosen?.plain
        }
    }

    /// Puts an item into a box of its store, or into none.
    private mutating func move(_ item: ManagedObject, _ place: Int, _ context: ManagedObjectContext) throws {
        let count = board.stores.count
        let boxes = plain.sizes.indices.filter { $0 % count == plain.items[place].store }
        let box = Int.random(in: 0..<4, using: &random) == 0 ? nil : boxes.randomElement(using: &random)
        let destination = try box.map { try object("Box", "name", $0, context) }
        try item.setValue(.toOne(destination), forKey: "box")
        plain.items[place].box = box
    }

    private func object(
        _ entity: String, _ key: String, _ number: Int, _ context: ManagedObjectContext
    ) throws -> ManagedObject {
        let request = FetchRequest<ManagedObject>(
            entityName: entity, predicate: try FetchPredicate(format: "%K == %d", key, number))
        return try #require(try context.fetch(request).first, "\(entity) \(number) is not found")
    }

    // MARK: Requests

    private mutating func ask(_ context: ManagedObjectContext, _ moment: String) async throws {
        for _ in 0..<12 where failure == nil {
            let condition = Int.random(in: 0..<6, using: &random) == 0 ? nil : try ItemCondition(&random)
            let wantsTools = Int.random(in: 0..<6, using: &random) == 0
            var terms = FetchTerms(entityName: wantsTools ? "Tool" : "Item", predicate: condition?.predicate)
            terms.includesSubentities = Int.random(in: 0..<5, using: &random) > 0
            let asked = someStores()
            terms.affectedStores = asked?.map { board.stores[$0].identifier }
            let all = plain.items.filter { item in
                (wantsTools ? item.isTool : terms.includesSubentities || !item.isTool)
                    && asked?.contains(item.store) ?? true
            }
            var expected = all.filter { condition?.holds($0, plain) ?? true }
            if !expected.isEmpty, expected.count < all.count { partialCount += 1 }
            order(&expected, &terms)
            if Int.random(in: 0..<3, using: &random) == 0 {
                terms.fetchOffset = Int.random(in: 0...2, using: &random)
                terms.fetchLimit = Int.random(in: 1...6, using: &random)
                expected = Array(expected.dropFirst(terms.fetchOffset).prefix(terms.fetchLimit))
            }
            let form = Form.allCases.randomElement(using: &random) ?? .objects
            let found: [Int]
            do { found = try await answer(terms, form, context) } catch {
                failure = "\(moment), \(form): \(terms.debugDescription): \(error)"
                return
            }
            let isCount = form == .count || form == .countElsewhere
            let wanted = isCount ? [expected.count] : expected.map(\.serial)
            guard found != wanted else { continue }
            failure = "\(moment), \(form): \(terms.debugDescription): \(found), expected \(wanted) of \(plain)"
        }
    }

    /// The stores of a request; `nil` = it names none.
    private mutating func someStores() -> [Int]? {
        guard Bool.random(using: &random) else { return nil }
        let chosen = board.stores.indices.filter { _ in Bool.random(using: &random) }
        return chosen.isEmpty ? Array(board.stores.indices) : chosen
    }

    /// An order by some value, and then by serial numbers.
    private mutating func order(_ items: inout [PlainItem], _ terms: inout FetchTerms) {
        let board = plain
        let path = Bool.random(using: &random) ? ItemCondition.paths.randomElement(using: &random) : nil
        let isAscending = Bool.random(using: &random)
        if let path, path != "serial" { terms.sortKeys.append(SortKey(path, ascending: isAscending)) }
        terms.sortKeys.append(SortKey("serial"))
        items.sort { left, right in
            if let path, path != "serial" {
                let (first, second) = (board.value(path, of: left), board.value(path, of: right))
                if first != second { return (first < second) == isAscending }
            }
            return left.serial < right.serial
        }
    }

    /// The serial numbers of what a request finds, or how many there are.
    private func answer(
        _ terms: FetchTerms, _ form: Form, _ context: ManagedObjectContext
    ) async throws -> [Int] {
        var request = FetchRequest<ManagedObject>(entityName: terms.entityName)
        request.terms = terms
        let values = ValueRequest(terms, columns: ["serial"])
        switch form {
        case .objects: return try context.fetch(request).map(\.serial)
        case .pages:
            request.fetchBatchSize = 2
            return try context.fetchPages(request).map(\.serial)
        case .batches:
            var found: [Int] = []
            try context.enumerate(request, batchSize: 3) { found.append($0.serial) }
            return found
        case .ids: return try context.fetchIDs(request).map { try context.existingObject(with: $0).serial }
        case .count: return [try context.count(for: request)]
        case .values: return try context.fetch(values).map { Self.serial($0.values) }
        case .objectsElsewhere: return try await context.fetch(request, progress: FetchProgress()).map(\.serial)
        case .idsElsewhere:
            let ids = try await context.fetchIDs(request, progress: FetchProgress())
            return try ids.map { try context.existingObject(with: $0).serial }
        case .countElsewhere: return [try await context.count(for: request, progress: FetchProgress())]
        case .valuesElsewhere:
            return try await context.fetch(values, progress: FetchProgress()).map { Self.serial($0.values) }
        }
    }

    private static func serial(_ row: [AttributeValue]) -> Int {
        guard case .integer(let number)? = row.first else { return -1 }
        return Int(number)
    }
}

extension ManagedObject {
    /// The serial number of an item.
    fileprivate var serial: Int {
        guard case .integer(let number) = self[attribute: "serial"] else { return -1 }
        return Int(number)
    }
}
