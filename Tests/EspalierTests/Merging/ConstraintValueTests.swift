// The values that a uniqueness constraint holds for the same: the early check in memory, the report of a save and the
// store agree about values of every type, alone and in pairs.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct ConstraintValueTests {
    private static let long = String(repeating: "long ", count: 300)
    private static let texts = [
        "", "a", "A", "é", "e\u{301}", "ß", "ss", "👩‍👩‍👧", "\u{0}", "a\u{0}", "ﬁ", "fi", long, long + "é",
        long + "e\u{301}",
    ]
    private static let types: [(AttributeType, [AttributeValue])] = [
        (.string, texts.map { .string($0) }),
        (.double, [0, -0.0, 1, .nan, -.nan, .infinity, -.infinity, .leastNonzeroMagnitude].map { .double($0) }),
        (.float, [0, -0.0, 1, .nan, -.nan, .infinity].map { .float($0) }),
        (.date, [0, -0.0, 1, .nan, .infinity].map { .date(Date(timeIntervalSinceReferenceDate: $0)) }),
        (.integer64, [.min, -1, 0, 1, .max].map { .integer($0) }),
        (
            .decimal,
            [0, 1, Decimal(string: "1.00"), Decimal(string: "0.1"), .nan].compactMap(\.self).map { .decimal($0) }
        ),
        (.boolean, [.boolean(true), .boolean(false)]),
        (.binary, [Data(), Data([0]), Data([0, 0]), Data(repeating: 7, count: 2000)].map { .binary($0) }),
        (.uuid, [UUID(), UUID()].map { .uuid($0) }),
        (
            .uri,
            ["https://a.b/c", "https://a.b/C", "https://a.b/%C3%A9"].compactMap(URL.init(string:)).map { .uri($0) }
                + [URL(string: "c", relativeTo: URL(string: "https://a.b/"))].compactMap(\.self).map { .uri($0) }
        ),
    ]

    /// A store whose entity has a unique attribute, or a unique pair of a number and it.
    private func context(_ kind: StoreKind, _ type: AttributeType, isPair: Bool) throws -> ManagedObjectContext {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Key",
                attributes: [AttributeDescription("value", type), AttributeDescription("number", .integer16)],
                uniquenessConstraints: isPair ? [["number", "value"]] : [["value"]])
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(kind == .inMemory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model))
        return ManagedObjectContext(coordinator)
    }

    private func make(_ value: AttributeValue, in context: ManagedObjectContext) throws -> ManagedObject {
        let object = try context.insertNewObject(forEntityName: "Key")
        try object.setValue(.integer(7), forKey: "number")
        try object.setValue(.attribute(value), forKey: "value")
        return object
    }

    /// Whether a save refuses the changes; it must say the same as the early check, and name `objects` and the row.
    private func isRefused(
        _ context: ManagedObjectContext, _ objects: [ManagedObject], _ stored: ObjectID?, _ text: String
    ) throws -> Bool {
        let early = context.uniquenessConflicts()
        guard let error = contextError({ try context.save() }) else {
            #expect(early.isEmpty, "\(text): the store accepts it")
            return false
        }
        guard case .constraints(let told) = error else { throw error }
        // Foundation's own text of a date ends the program if the date is no number.
        #expect("\(error)".contains("Key"))
        for (conflicts, place) in [(told, "told"), (early, "early")] {
            #expect(conflicts.count == 1, "\(text) \(place): \(conflicts)")
            #expect(Set(conflicts.flatMap(\.objects)) == Set(objects.map(\.objectID)), "\(text) \(place)")
            #expect(conflicts.first?.stored == stored, "\(text) \(place)")
        }
        return true
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `memory and store agree which values are the same, whatever their type`(
        _ kind: StoreKind, _ isPair: Bool
    ) throws {
        var sameCount = 0
        for (type, values) in Self.types {
            let context = try context(kind, type, isPair: isPair)
            for (position, first) in values.enumerated() {
                for second in values[position...] {
                    let text = "\(type) \(position) and \(values.firstIndex(of: second) ?? -1)"
                    let objects = [try make(first, in: context), try make(second, in: context)]
                    let areSame = try isRefused(context, objects, nil, text)
                    if areSame { context.rollback() }
                    let stored = areSame ? try make(first, in: context) : objects[0]
                    if !areSame { try context.delete(objects[1]) }
                    try context.save()
                    let new = try make(second, in: context)
                    #expect(try isRefused(context, [new], stored.objectID, text) == areSame)
                    sameCount += areSame ? 1 : 0
                    context.rollback()
                    for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Key")) {
                        try context.delete(object)
                    }
                    try context.save()
                }
            }
            // Without a value nothing is the same.
            for _ in 0..<2 { _ = try make(.null, in: context) }
            #expect(context.uniquenessConflicts().isEmpty)
            try context.save()
        }
        #expect(sameCount > Self.types.map(\.1.count).reduce(0, +), "no two unequal values were the same")
    }

    @Test(arguments: StoreKind.allCases)
    func `a policy of the application's own is asked about values that are no numbers`(_ kind: StoreKind) throws {
        let context = try context(kind, .double, isPair: false)
        context.mergePolicy = MergePolicy { _, _ in
            MergeResolution(.error)
        } constraints: { _, _ in
            .change(values: ["value": .double(1)])
        }
        let stored = try make(.double(.nan), in: context)
        try context.save()
        let new = try make(.double(-.nan), in: context)
        try context.save()
        #expect(new[attribute: "value"] == .double(1) && stored.objectID != new.objectID)
    }
}
