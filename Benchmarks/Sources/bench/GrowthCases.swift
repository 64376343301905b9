// The operations of `bench --growth`: on one object among many, and on all of them.

import BenchKit
import Espalier
import Foundation

enum GrowthCases {
    private static let groups: [[GrowthCase]] = [
        controls, faults, changes, contexts, references, objects, values, children, grandchildren, undo, merges,
        containers, stores, relationships, members, pending, queries, predicates, batches, valueRequests, typedQueries,
        reading, saving, properties, labels, rules, notices, asynchronous, files, models, memory,
    ]

    static let all: [GrowthCase] = groups.flatMap { $0 }

    static func all(_ context: ManagedObjectContext) throws -> [Paper] {
        try context.fetch(FetchRequest<Paper>())
    }

    /// `value`, which must be there.
    static func found<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw WrongResult(expected: 1, found: 0) }
        return value
    }

    /// The topic of all papers.
    static func topic(_ context: ManagedObjectContext) throws -> Topic {
        try found(try context.fetch(FetchRequest<Topic>()).first)
    }

    static func shelf(_ context: ManagedObjectContext, _ number: Int = 0) throws -> Shelf {
        let code = PaperStore.code("s", number)
        let found = try context.fetch(FetchRequest<Shelf>(try FetchPredicate(format: "code == %@", code)))
        return try self.found(found.first)
    }

    /// One query, whose result must have `expecting` objects if that is given.
    static func query(
        _ name: String, _ power: Double, _ format: String, sort: [SortKey] = [], offset: Int = 0, limit: Int = 0,
        expecting: Int? = nil, reason: String = "", sorts: Bool = false
    ) -> GrowthCase {
        GrowthCase(name, power, reason: reason, work: power < 1 ? .steps : .rows, sorts: sorts) { store in
            {
                let context = store.context()
                var request = FetchRequest<Paper>(try FetchPredicate(format: format), sortedBy: sort)
                (request.fetchLimit, request.fetchOffset) = (limit, offset)
                let found = try context.fetch(request).count
                if let expecting, found != expecting { throw WrongResult(expected: expecting, found: found) }
            }
        }
    }

    // MARK: Faults

    private static let faults: [GrowthCase] = [
        GrowthCase("fetch all, read an attribute", 1) { store in
            { for paper in try all(store.context()) { blackHole(paper.number) } }
        },
        GrowthCase("enumerate all, read an attribute", 1) { store in
            { try store.context().enumerate(FetchRequest<Paper>()) { blackHole($0.number) } }
        },
        GrowthCase("fetch all, read to-one", 1) { store in
            { for paper in try all(store.context()) { blackHole(paper.shelf?.code) } }
        },
        GrowthCase("fetch all owners, read to-many", 1) { store in
            {
                let context = store.context()
                for shelf in try context.fetch(FetchRequest<Shelf>()) {
                    for paper in shelf.papers { blackHole(paper.number) }
                }
            }
        },
        GrowthCase("the same with prefetching", 1) { store in
            {
                let context = store.context()
                var request = FetchRequest<Shelf>()
                request.relationshipKeyPathsForPrefetching = ["papers"]
                for shelf in try context.fetch(request) { for paper in shelf.papers { blackHole(paper.number) } }
            }
        },
        GrowthCase("walk to-one and back", 1) { store in
            {
                for paper in try all(store.context()) {
                    for other in paper.shelf?.papers ?? [] { blackHole(other.number) }
                }
            }
        },
        GrowthCase("walk to-one and back, to all of one owner", 1) { store in
            {
                let context = store.context()
                let papers = try all(context)
                for paper in papers { blackHole(paper.home?.holdings.contains(paper) == true) }
                blackHole(papers[0].home?.holdings.count)
            }
        },
        GrowthCase("refresh(false) and read, each", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                for paper in papers {
                    context.refresh(paper, mergesChanges: false)
                    blackHole(paper.number)
                }
            }
        },
        GrowthCase("refresh(true), each of all, changed", 1) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { for paper in papers { context.refresh(paper, mergesChanges: true) } }
        },
        GrowthCase(
            "refreshAllObjects, all changed", 1, reason: "the rows of all are fetched into a table", work: .tables
        ) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return {
                context.refreshAllObjects()
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("refresh(false), each, deletions pending", 1) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { try context.delete(paper) }
            return { for paper in papers { context.refresh(paper, mergesChanges: false) } }
        },
        GrowthCase(
            "save of one, merged and read in a context of all", 1,
            reason: "the first trip of objects that were fetched together notes the position of each"
        ) { store in
            let (context, other) = (store.context(), store.context())
            context.automaticallyMergesChangesFromParent = true
            let papers = try all(context)
            let mine = try found(papers.last)
            let theirs = try found(try other.existingObject(with: mine.objectID) as? Paper)
            blackHole(mine.number)
            return {
                theirs.touched += 1
                try other.save()
                context.processPendingChanges()
                blackHole(mine.number)
                withExtendedLifetime(papers) {}
            }
        },
    ]

    // MARK: Changes

    private static let changes: [GrowthCase] = [
        GrowthCase("insert, set, rollback", 1) { store in
            {
                let context = store.context()
                for number in 0..<store.count { PaperStore.fill(Paper(context: context), number, of: store.count) }
                context.rollback()
            }
        },
        GrowthCase("update all, save", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                for paper in papers { paper.touched += 1 }
                try context.save()
            }
        },
        GrowthCase("save of one among all", 0, work: .file) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                papers[papers.count / 2].touched += 1
                try context.save()
            }
        },
        GrowthCase("delete and processPendingChanges, each", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                for paper in papers {
                    try context.delete(paper)
                    context.processPendingChanges()
                }
            }
        },
        GrowthCase("insert, delete and processPendingChanges, each", 1) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return {
                for _ in papers {
                    try context.delete(Paper(context: context))
                    context.processPendingChanges()
                }
            }
        },
        GrowthCase("delete all, rollback", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                for paper in papers { try context.delete(paper) }
                context.rollback()
            }
        },
        GrowthCase("obtainPermanentIDs of one among many new, a new one each time", 0) { store in
            let context = store.context()
            let papers = (0..<store.count).map { _ in Paper(context: context) }
            try context.obtainPermanentIDs(for: [papers[0]])
            return {
                try context.obtainPermanentIDs(for: [Paper(context: context)])
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase(
            "obtainPermanentIDs of all", 1, reason: "the table of objects by ID gets each under its new one",
            work: .tables
        ) { store in
            let context = store.context()
            let papers = (0..<store.count).map { _ in Paper(context: context) }
            return {
                try context.obtainPermanentIDs(for: papers)
            }
        },
    ]

    // MARK: Relationships

    private static let relationships: [GrowthCase] = [
        GrowthCase("to-many insert, each", 1) { store in
            let context = store.context()
            let (papers, owner) = (try all(context), try shelf(context))
            return { for paper in papers { owner.papers.insert(paper) } }
        },
        GrowthCase("many-to-many insert from the hub, each", 1) { store in
            let context = store.context()
            let (papers, topic) = (try all(context), Topic(context: context))
            return { for paper in papers { topic.papers.insert(paper) } }
        },
        GrowthCase("many-to-many remove from the hub, each", 1) { store in
            let context = store.context()
            let (papers, topic) = (try all(context), try topic(context))
            return { for paper in papers { topic.papers.remove(paper) } }
        },
        GrowthCase("to-one set and to-many count, each", 1) { store in
            let context = store.context()
            let (papers, owner) = (try all(context), try shelf(context))
            return {
                for paper in papers {
                    paper.shelf = owner
                    blackHole(owner.papers.count)
                }
            }
        },
        GrowthCase("ordered append, each", 1) { store in
            let context = store.context()
            let (papers, owner) = (try all(context), try shelf(context, 1))
            return { for paper in papers { owner.listed.append(paper) } }
        },
        GrowthCase("ordered insert at the front, each", 1) { store in
            let context = store.context()
            let (papers, owner) = (try all(context), try shelf(context, 1))
            return { for paper in papers { owner.listed.insert(paper, at: 0) } }
        },
        GrowthCase("ordered remove from the front, each", 1) { store in
            let context = store.context()
            let owner = try shelf(context)
            return { for _ in 0..<store.count { owner.listed.remove(at: 0) } }
        },
        GrowthCase("ordered move from end to front, each", 1) { store in
            let context = store.context()
            let owner = try shelf(context)
            return { for _ in 0..<store.count { owner.listed.move(from: store.count - 1, to: 0) } }
        },
        GrowthCase(
            "one move in an ordered list of all, and its save", 1,
            reason: "the first change of an order reads the list"
        ) { store in
            let context = store.context()
            let owner = try shelf(context)
            return {
                owner.listed.move(from: 0, to: store.count / 2)
                try context.save()
            }
        },
        GrowthCase("save of one move in an ordered list of all", 0, work: .file, once: true) { store in
            let context = store.context()
            let owner = try shelf(context)
            owner.listed.move(from: 0, to: store.count / 2)
            return { try context.save() }
        },
    ]

    // MARK: Unsaved changes

    private static let pending: [GrowthCase] = [
        GrowthCase("count beside one new object", 0) { store in
            let context = store.context()
            let paper = Paper(context: context)
            return {
                blackHole(try context.count(for: FetchRequest<Paper>()))
                withExtendedLifetime(paper) {}
            }
        },
        GrowthCase("by owner.code beside one new owner", 0) { store in
            let context = store.context()
            let new = Shelf(context: context)
            return {
                let predicate = try FetchPredicate(format: "shelf.code == %@", PaperStore.code("s", 7))
                blackHole(try context.fetch(FetchRequest<Paper>(predicate)).count)
                withExtendedLifetime(new) {}
            }
        },
        GrowthCase("by owner.code beside one changed owner", 0) { store in
            let context = store.context()
            let changed = try shelf(context, 8)
            changed.code = PaperStore.code("s", 7)
            return {
                let predicate = try FetchPredicate(format: "shelf.code == %@", PaperStore.code("s", 7))
                blackHole(try context.fetch(FetchRequest<Paper>(predicate)).count)
                withExtendedLifetime(changed) {}
            }
        },
        GrowthCase("by owner.code beside all owners, changed", 0) { store in
            let context = store.context()
            let owners = try context.fetch(FetchRequest<Shelf>())
            for owner in owners { owner.code += "x" }
            let body: () throws -> Void = {
                let predicate = try FetchPredicate(format: "shelf.code == %@", PaperStore.code("s", 7) + "x")
                let found = try context.fetch(FetchRequest<Paper>(predicate)).count
                guard found == 1 else { throw WrongResult(expected: 1, found: found) }
                withExtendedLifetime(owners) {}
            }
            // The first question lists the changed owners by value.
            try body()
            return body
        },
        GrowthCase("find or create, unsaved", 1) { store in
            {
                let context = store.context()
                for number in store.count..<2 * store.count {
                    let code = PaperStore.code("c", number)
                    let predicate = try FetchPredicate(format: "code == %@", code)
                    if try context.fetch(FetchRequest<Paper>(predicate)).isEmpty { Paper(context: context).code = code }
                }
            }
        },
        GrowthCase("find and update, unsaved", 1) { store in
            {
                let context = store.context()
                for number in 0..<store.count {
                    let predicate = try FetchPredicate(format: "code == %@", PaperStore.code("c", number))
                    for paper in try context.fetch(FetchRequest<Paper>(predicate)) { paper.touched += 1 }
                }
            }
        },
    ]

    // MARK: Queries

    private static let queries: [GrowthCase] = [
        GrowthCase("count of all", 0) { store in { blackHole(try store.context().count(for: FetchRequest<Paper>())) } },
        GrowthCase("by an indexed value, each", 1) { store in
            {
                let context = store.context()
                for number in 0..<store.count {
                    let predicate = try FetchPredicate(format: "code == %@", PaperStore.code("c", number))
                    blackHole(try context.fetch(FetchRequest<Paper>(predicate)).count)
                }
            }
        },
        query("unindexed ==", 1, "number == 77", expecting: 1),
        query("unindexed <", 1, "number < 10", expecting: 10),
        query("unindexed BEGINSWITH", 1, "word BEGINSWITH 'word number 77'"),
        query("unindexed BEGINSWITH[cd]", 1, "word BEGINSWITH[cd] 'WORD NUMBER 77'"),
        query("unindexed CONTAINS", 1, "word CONTAINS 'r 77'"),
        query("unindexed CONTAINS[c]", 1, "word CONTAINS[c] 'R 77'"),
        query("unindexed LIKE", 1, "word LIKE '*77'"),
        query("unindexed MATCHES", 1, "word MATCHES '.*[a-z] 77'"),
        query("filter, sort, limit 100", 1, "number >= 10", sort: [SortKey("word")], limit: 100, expecting: 100),
        query("IN of 26 over an index", 0, inList(26), expecting: 26),
        query("OR of 26 over an index", 0, alternatives(26), expecting: 26),
        query("IN of 26 over a unique attribute", 0, inList(26, "key"), expecting: 26),
        query("BEGINSWITH, sort by its index, limit 10", 0, "code BEGINSWITH 'c'", sort: [SortKey("code")], limit: 10),
        query("index ==, limit 10", 0, "kind == 3", limit: 10),
        query("index >, limit 10", 0, "kind > 3", limit: 10),
        query("index BEGINSWITH, limit 10", 0, "code BEGINSWITH 'c'", limit: 10),
        query(
            "index BEGINSWITH, few of many, limit 10", 0.5, "code BEGINSWITH 'c0000'", limit: 10, reason: limitReason),
        query(
            "descending over an index of 10 values, limit 10", 0, "TRUEPREDICATE",
            sort: [SortKey("kind", ascending: false)], limit: 10),
        query("sort by an index with a long value, limit 10", 0, "TRUEPREDICATE", sort: [SortKey("note")], limit: 10),
        query("sort without index, limit 10", 1, "TRUEPREDICATE", sort: [SortKey("word")], limit: 10),
        query(
            "sort by two keys, all", 1, "TRUEPREDICATE", sort: [SortKey("kind"), SortKey("word")],
            reason: "n log n comparisons", sorts: true),
        GrowthCase("last page by offset over an index", 1, reason: "a step for each leaf of the index that is skipped")
        {
            store in
            {
                var request = FetchRequest<Paper>(sortedBy: [SortKey("code")])
                (request.fetchOffset, request.fetchLimit) = (store.count - 10, 10)
                blackHole(try store.context().fetch(request).count)
            }
        },
        query("by an indexed value of the owner", 0, "shelf.code == 's00000007'", expecting: 1),
        query("ANY of a to-many, few that lead to all", 0, "ANY topics.name == 'none'", expecting: 0),
        query("@count of a to-many", 1, "topics.@count == 0", expecting: 0),
        query("@count of a to-many of the owner", 1, "shelf.papers.@count == 2", expecting: 0),
        query("SUBQUERY", 1, "SUBQUERY(topics, $t, $t.name == 'none').@count > 0", expecting: 0),
    ]

    private static let limitReason = "the result comes by key: the first rows, or the entries, whichever are fewer"

    private static func inList(_ count: Int, _ name: String = "code") -> String {
        let letter = name == "key" ? "k" : "c"
        return "\(name) IN {" + (0..<count).map { "'\(PaperStore.code(letter, 7 * $0))'" }.joined(separator: ", ") + "}"
    }

    private static func alternatives(_ count: Int) -> String {
        (0..<count).map { "code == '\(PaperStore.code("c", 7 * $0))'" }.joined(separator: " OR ")
    }
}
