// The operations of `bench --growth` that are batch requests, of contexts and of coordinators.
//
// Invariants
//   1. The topics that an operation inserts are gone after it, or at the beginning of the next one.

import BenchKit
import Espalier
import Foundation

extension GrowthCases {
    private static let batchName = "of a batch"

    /// The insertion of `count` topics; it serves once.
    private static func insertion(_ count: Int) -> BatchInsertRequest {
        var number = 0
        return BatchInsertRequest(Topic.self) { row in
            guard number < count else { return true }
            number += 1
            row.set(\.name, to: batchName)
            return false
        }
    }

    /// The deletion of the topics of `insertion`.
    private static func deletion() throws -> BatchDeleteRequest {
        BatchDeleteRequest(FetchRequest<Topic>(try FetchPredicate(format: "name == %@", batchName)))
    }

    /// A request that adds 1 to a number of all papers, or of one.
    private static func update(ofOne: Bool = false) throws -> BatchUpdateRequest {
        var request = BatchUpdateRequest(entityName: "Paper")
        if ofOne { request.predicate = try FetchPredicate(format: "code == %@", PaperStore.code("c", 7)) }
        try request.set(\Paper.touched, to: #Expression<Paper, Int> { $0.touched + 1 })
        return request
    }

    /// An operation that begins with as many topics of a batch as there are papers, and deletes them.
    private static func deleting(
        _ name: String, _ body: @escaping @Sendable (PaperStore, [ObjectID]) throws -> Void
    ) -> GrowthCase {
        GrowthCase(name, 1) { store in
            try store.coordinator.execute(try deletion())
            var request = insertion(store.count)
            request.returnsObjectIDs = true
            let ids = try found(try store.coordinator.execute(request).objectIDs)
            return { try body(store, ids) }
        }
    }

    static let batches: [GrowthCase] = [
        GrowthCase("batch update of all by an expression", 1) { store in
            let context = store.context()
            return { blackHole(try context.execute(try update()).count) }
        },
        GrowthCase("batch update of all, in a context that has them in memory", 1, work: .tables) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { blackHole(paper.touched) }
            return {
                blackHole(try context.execute(try update()).count)
                for paper in papers { blackHole(paper.touched) }
            }
        },
        GrowthCase("batch update of one among all", 0, work: .file) { store in
            let context = store.context()
            return { blackHole(try context.execute(try update(ofOne: true)).count) }
        },
        GrowthCase("coordinator: batch update of all by a constant", 1) { store in
            let request = BatchUpdateRequest(entityName: "Paper", propertiesToUpdate: ["touched": 3])
            return { blackHole(try store.coordinator.execute(request).count) }
        },
        GrowthCase("batch insertion of all, by key path", 1) { store in
            let context = store.context()
            try context.execute(try deletion())
            return { blackHole(try context.execute(insertion(store.count)).count) }
        },
        GrowthCase("coordinator: batch insertion of all, of dictionaries", 1) { store in
            try store.coordinator.execute(try deletion())
            let objects: [[String: any PredicateArgument]] = (0..<store.count).map { _ in ["name": batchName] }
            return {
                let request = BatchInsertRequest(entityName: "Topic", objects: objects)
                blackHole(try store.coordinator.execute(request).count)
            }
        },
        GrowthCase("batch insertion of all, merged into those with their unique keys", 1) { store in
            let context = store.context()
            context.mergePolicy = .objectTrump
            return {
                var number = 0
                let request = BatchInsertRequest(entityName: "Paper") { values in
                    guard number < store.count else { return true }
                    values["key"] = PaperStore.code("k", number)
                    values["touched"] = number
                    number += 1
                    return false
                }
                blackHole(try context.execute(request).count)
            }
        },
        deleting("batch deletion of all, by a condition") { store, _ in
            blackHole(try store.context().execute(try deletion()).count)
        },
        deleting("coordinator: batch deletion of all, by their IDs") { store, ids in
            blackHole(try store.coordinator.execute(BatchDeleteRequest(objectIDs: ids)).count)
        },
        deleting("delete(_:where:) of all") { store, _ in
            let name = batchName
            blackHole(try store.context().delete(Topic.self, where: #Predicate<Topic> { $0.name == name }))
        },
        GrowthCase("explain of batch requests", 0) { store in
            {
                blackHole(try store.coordinator.explain(try update(ofOne: true)).count)
                blackHole(try store.coordinator.explain(try deletion()).count)
            }
        },
    ]
}
