// Rows that no value of the newer model can hold: those of an entity that is abstract now, and those that lead to
// objects of entities to which a relationship does not lead any more.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct RefusedRowTests {
    @Test func `an entity that is abstract now is refused with its rows, and accepted without any`() throws {
        let refused = try MigrationLibrary.refusal { $0[2].isAbstract = true }

        let failure = try #require(refused?.failures.first)
        #expect(refused?.failures.count == 1 && refused?.losses == [])
        #expect(failure.subject == "Genre" && failure.reason == .abstractEntity && failure.rowCount == 3)
        #expect(failure.objects.map { "\($0.entityName)/\($0.key)" } == ["Genre/1", "Genre/2", "Genre/3"])
        #expect(
            failure.description
                == "Genre is now abstract, but has 3 rows (Genre/1, Genre/2, Genre/3): delete them first")
        try withStorePath { path in
            try BTreeStore.open(path: path, model: try MigrationLibrary.model { _ in }).close()
            let model = try MigrationLibrary.model { $0[2].isAbstract = true }
            let store = try BTreeStore.open(path: path, model: model)
            #expect(try store.check().isOK && store.model.descriptions == model.descriptions)
            try store.close()
        }
    }

    @Test func `rows of a subentity stay where their superentity is abstract now`() throws {
        func model(isAbstract: Bool) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription(
                    "Thing", isAbstract: isAbstract, attributes: [AttributeDescription("serial", .integer64)]),
                EntityDescription("Chair", superentity: "Thing"),
            ])
        }
        for thingCount in [0, 2] as [Int64] {
            try withStorePath { path in
                let (old, new) = (try model(isAbstract: false), try model(isAbstract: true))
                let store = try BTreeStore.open(path: path, model: old)
                var graph = GraphInsertion(old)
                for serial in 0..<3 as Range<Int64> { try graph.add(serial, "Chair") }
                for serial in 0..<thingCount { try graph.add(10 + serial, "Thing") }
                try graph.save(in: store)
                try store.close()

                let plan = try BTreeStore.migrationPlan(at: path, to: new, checkingRows: true)

                #expect(plan.refusal?.failures.map(\.rowCount) ?? [] == (thingCount == 0 ? [] : [2]))
                guard thingCount == 0 else { return }
                let after = try BTreeStore.open(path: path, model: new)
                #expect(try GraphDump(after).rows.keys.sorted() == [0, 1, 2] && after.check().isOK)
                try after.close()
            }
        }
    }

    @Test func `a relationship to another entity is refused with the rows that lead to the former one`() throws {
        let list = try MigrationLibrary.refusal { $0[0].relationships[1].destination = "Genre" }

        let failure = try #require(list?.failures.first)
        #expect(list?.failures.count == 1 && failure.subject == "Artist.notes")
        // The first artist has two notes and is one row.
        #expect(failure.reason == .otherDestination && failure.rowCount == 2 && failure.objects.map(\.key) == [1, 2])
        #expect(
            failure.description
                == "Artist.notes: 2 rows (Artist/1, Artist/2) lead to objects of entities that it can no longer lead "
                + "to: change them with the file's model first, or use a mapping with a rule for Artist.notes")
        let reference = try MigrationLibrary.refusal { entities in
            entities[0].relationships[0].inverse = nil
            entities[1].relationships[0] = RelationshipDescription("artist", to: "Genre")
        }
        #expect(reference?.failures.map(\.subject) == ["Album.artist"])
        #expect(reference?.failures.first?.reason == .otherDestination && reference?.failures.first?.rowCount == 12)
    }

    @Test(arguments: [RelationshipDescription.Cardinality.toOne, .toMany, .ordered])
    func `a relationship to a subentity is refused with exactly the rows that lead to others`(
        cardinality: RelationshipDescription.Cardinality
    ) throws {
        func model(to destination: String) throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription("Seat", attributes: [AttributeDescription("serialS", .integer64)]),
                EntityDescription("Chair", superentity: "Seat"),
                EntityDescription(
                    "Table", attributes: [AttributeDescription("serialT", .integer64)],
                    relationships: [RelationshipDescription("seats", to: destination, cardinality)]),
            ])
        }
        let (wide, narrow) = (try model(to: "Seat"), try model(to: "Chair"))
        for seats in [[], [11], [1], [11, 1], [1, 2]] as [[Int64]] {
            try withStorePath { path in
                let store = try BTreeStore.open(path: path, model: wide)
                var graph = GraphInsertion(wide)
                for serial in [1, 2] as [Int64] { try graph.add(serial, "Seat") }
                for serial in [11, 12] as [Int64] { try graph.add(serial, "Chair") }
                for (serial, seats) in [(21, [12]), (22, seats), (23, [])] as [(Int64, [Int64])] {
                    if cardinality == .toOne {
                        try graph.add(serial, "Table", to: seats.first.map { ["seats": $0] } ?? [:])
                    } else {
                        try graph.add(serial, "Table")
                        try graph.link(serial, "seats", seats)
                    }
                }
                try graph.save(in: store)
                let before = try GraphDump(store)
                try store.close()
                let kept = cardinality == .toOne ? Array(seats.prefix(1)) : seats
                let isRefused = kept.contains { $0 < 11 }

                let plan = try BTreeStore.migrationPlan(at: path, to: narrow, checkingRows: true)

                #expect(plan.steps.map(\.change.cost) == [.rewrite] && plan.difference.losses.isEmpty)
                let failures = plan.refusal?.failures ?? []
                #expect(failures.flatMap { $0.objects.map(\.key) } == (isRefused ? [2] : []), "\(seats)")
                #expect(failures.map(\.rowCount) == (isRefused ? [1] : []), "\(seats)")
                guard !isRefused else { return }
                let after = try BTreeStore.open(path: path, model: narrow)
                #expect(try GraphDump(after) == before && after.check().isOK && after.check().dangling.isEmpty)
                try after.close()
            }
        }
    }
}
