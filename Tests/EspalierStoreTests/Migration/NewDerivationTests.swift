// Attributes that stores compute from now on, or by another rule: what an application has set is not replaced unasked,
// and what was computed needs no equal.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct NewDerivationTests {
    /// Albums with an attribute, and their tracks.
    private static func model(_ attribute: AttributeDescription) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Album", attributes: [AttributeDescription("serial", .integer64), attribute],
                relationships: [RelationshipDescription("tracks", to: "Track", inverse: "album", .toMany)]),
            EntityDescription(
                "Track",
                attributes: [AttributeDescription("serial", .integer64), AttributeDescription("stars", .double)],
                relationships: [RelationshipDescription("album", to: "Album", inverse: "tracks")]),
        ])
    }

    /// A closed file with albums 1 to 3, of which each has two tracks, with one and two stars; the albums have `value`
    /// unless stores compute it.
    private static func makeStore(at path: String, _ attribute: AttributeDescription, _ value: AttributeValue) throws {
        let model = try model(attribute)
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        for serial in 1...3 as ClosedRange<Int64> { try graph.add(serial, "Album", [attribute.name: value]) }
        for serial in 11...16 as ClosedRange<Int64> {
            let stars = AttributeValue.double(serial < 14 ? 1 : 2)
            try graph.add(serial, "Track", ["stars": stars], to: ["album": serial % 3 + 1])
        }
        try graph.save(in: store)
        try store.close()
    }

    /// The values of an attribute of the albums; expects that a check finds nothing.
    private static func values(
        of name: String, at path: String, _ model: ManagedObjectModel, allowing losses: Set<MigrationLoss> = []
    ) throws -> [AttributeValue] {
        let store = try BTreeStore.open(path: path, model: model, migration: MigrationOptions(allowing: losses))
        #expect(try store.check().findings.map(\.description) == [])
        let dump = try GraphDump(store)
        try store.close()
        return (1...3).map { dump.value($0, name) }
    }

    @Test(arguments: [
        (AttributeDescription("size", .integer64), AttributeValue.integer(5)),
        (AttributeDescription("size", .integer64, isOptional: false, isIndexed: true), .integer(5)),
        // A value of another type needs no equal: it is lost in any case.
        (AttributeDescription("size", .string), .string("large")),
    ])
    func `values that an application has set are computed anew only if their loss is allowed by its name (MG-05)`(
        former: AttributeDescription, value: AttributeValue
    ) throws {
        try withStorePath { path in
            try Self.makeStore(at: path, former, value)
            let model = try Self.model(AttributeDescription("size", .integer64, derivation: .count(of: "tracks")))
            let loss = MigrationLoss.removal(of: "Album.size")

            let plan = try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true)
            let error = #expect(throws: StoreError.self) { try BTreeStore.open(path: path, model: model) }

            #expect(plan.refusal == MigrationRefusal(losses: [loss]))
            guard case .migrationRefused(_, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == MigrationRefusal(losses: [loss]))
            #expect(try Self.values(of: "size", at: path, Self.model(former)) == [value, value, value])
            let computed = try Self.values(of: "size", at: path, model, allowing: [loss])
            #expect(computed == [.integer(2), .integer(2), .integer(2)])
        }
    }

    @Test func `a time that an application has set stays until the next save of its row computes it`() throws {
        try withStorePath { path in
            let time = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 1000))
            try Self.makeStore(at: path, AttributeDescription("changed", .date), time)
            let model = try Self.model(AttributeDescription("changed", .date, derivation: .now))

            #expect(try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true).refusal == nil)
            #expect(try Self.values(of: "changed", at: path, model) == [time, time, time])
        }
    }

    @Test(arguments: [
        (AttributeType.integer64, Derivation.count(of: "tracks"), AttributeValue.integer(2)),
        (.integer16, .count(of: "tracks", where: "stars > 1"), .integer(1)),
        (.decimal, .count(of: "tracks"), .decimal(2)), (.double, .sum(of: "stars", in: "tracks"), .double(3)),
    ])
    func `a value by another rule and of another type is computed, also where the former one has no equal`(
        type: AttributeType, rule: Derivation, value: AttributeValue
    ) throws {
        try withStorePath { path in
            let average = AttributeDescription(
                "rating", .double, isIndexed: true, derivation: .average(of: "stars", in: "tracks"))
            try Self.makeStore(at: path, average, .null)
            let averages = try Self.values(of: "rating", at: path, Self.model(average))
            #expect(averages == Array(repeating: .double(1.5), count: 3))
            let model = try Self.model(AttributeDescription("rating", type, isIndexed: true, derivation: rule))

            #expect(try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true).refusal == nil)
            #expect(try Self.values(of: "rating", at: path, model) == [value, value, value])
        }
    }

    /// A model that computes `size` by a rule, and in which no two albums may have the same.
    private static func uniqueModel(_ rule: Derivation) throws -> ManagedObjectModel {
        var entities = try model(AttributeDescription("size", .integer64, derivation: rule)).descriptions
        entities[0].uniquenessConstraints = [["size"]]
        return try ManagedObjectModel(entities: entities)
    }

    @Test(arguments: [false, true])
    func `values that are computed need not be unique before, whether or not the constraint is new`(
        isNew: Bool
    ) throws {
        try withStorePath { path in
            if isNew {
                try Self.makeStore(at: path, AttributeDescription("size", .integer64), .integer(5))
            } else {
                let rule = Derivation.minimum(of: "serial", in: "tracks")
                try Self.makeStore(at: path, AttributeDescription("size", .integer64, derivation: rule), .null)
                let former = try Self.values(of: "size", at: path, Self.uniqueModel(rule))
                #expect(Set(former) == [.integer(11), .integer(12), .integer(13)])
            }
            let model = try Self.uniqueModel(.maximum(of: "serial", in: "tracks"))
            let losses: Set<MigrationLoss> = isNew ? [.removal(of: "Album.size")] : []

            let values = try Self.values(of: "size", at: path, model, allowing: losses)

            #expect(Set(values) == [.integer(14), .integer(15), .integer(16)])
        }
    }

    @Test(arguments: [false, true])
    func `computed values that rows would share refuse the migration, with the rows by their former IDs`(
        isNew: Bool
    ) throws {
        try withStorePath { path in
            if isNew {
                try Self.makeStore(at: path, AttributeDescription("size", .integer64), .integer(5))
            } else {
                let rule = Derivation.minimum(of: "serial", in: "tracks")
                try Self.makeStore(at: path, AttributeDescription("size", .integer64, derivation: rule), .null)
                #expect(try Self.values(of: "size", at: path, Self.uniqueModel(rule)).count == 3)
            }
            let model = try Self.uniqueModel(.count(of: "tracks"))
            let options = MigrationOptions(allowing: isNew ? [.removal(of: "Album.size")] : [])
            let store = try BTreeStore.openWithStoredModel(path: path)
            let album = try #require(store.model.entity(named: "Album"))
            let ids = try store.fetch(StoreFetch(entity: album)).ids
            try store.close()

            let plan = try BTreeStore.migrationPlan(at: path, to: model, migration: options, checkingRows: true)
            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: model, migration: options).close()
            }

            let failure = try #require(plan.refusal?.failures.first)
            #expect(plan.refusal?.failures.count == 1 && failure.reason == .notUnique(["size"]))
            #expect(failure.rowCount == 2 && failure.objects == Array(ids.dropFirst()))
            guard case .migrationRefused(_, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == plan.refusal)
        }
    }
}
