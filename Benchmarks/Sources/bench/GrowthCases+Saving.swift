// The operations of `bench --growth` that are transactions, conflicts, delete rules, and typed methods of objects.

import BenchKit
import Espalier
import Foundation

/// A policy of the application's own: the context's values, and a new key for one that is taken.
private struct OwnResolver: MergeResolver {
    func resolve(_ conflict: MergeConflict, of object: ManagedObject) throws -> MergeResolution {
        MergeResolution(.objectTrump)
    }

    func resolve(_ conflict: UniquenessConflict, of object: ManagedObject) throws -> ConstraintResolution {
        .change(values: ["serial": .string("\(object.objectID)")])
    }
}

extension GrowthCases {
    // MARK: Saving

    /// A save of one change of an ordered list of all, which `change` has made before.
    private static func orderedChange(
        _ name: String, prepare: @escaping @Sendable (ManagedObjectContext, Shelf, Paper) throws -> Void,
        change: @escaping @Sendable (Shelf, Paper) -> Void
    ) -> GrowthCase {
        GrowthCase(name, 0, work: .file, once: true) { store in
            let context = store.context()
            let (paper, owner) = (try found(try all(context).last), try shelf(context))
            try prepare(context, owner, paper)
            change(owner, paper)
            return { try context.save() }
        }
    }

    static let saving: [GrowthCase] = [
        orderedChange("save of one removal from an ordered list of all") { context, owner, paper in
            guard !owner.listed.contains(paper) else { return }
            owner.listed.append(paper)
            try context.save()
        } change: { owner, paper in
            owner.listed.remove(paper)
        },
        orderedChange("save of one append to an ordered list of all") { context, owner, paper in
            guard owner.listed.contains(paper) else { return }
            owner.listed.remove(paper)
            try context.save()
        } change: { owner, paper in
            owner.listed.append(paper)
        },
        GrowthCase("transaction that changes all", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return { try context.transaction(author: "bench") { for paper in papers { paper.touched += 1 } } }
        },
        GrowthCase("transaction that changes one among all", 0, work: .file) { store in
            let context = store.context()
            let papers = try all(context)
            return { try context.transaction { papers[papers.count / 2].touched += 1 } }
        },
        GrowthCase("transaction that changes all and throws", 1, work: .tables) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                do {
                    try context.transaction { () throws -> Void in
                        for paper in papers { paper.touched += 1 }
                        throw UsageError("the transaction ends without a save")
                    }
                } catch is UsageError {}
            }
        },
        GrowthCase(
            "transaction within one that has changed all", 1, reason: "the state to which an error returns",
            work: .tables
        ) { store in
            let context = store.context()
            let papers = try all(context)
            return {
                try context.transaction {
                    for paper in papers { paper.touched += 1 }
                    try context.transaction { papers[0].touched += 1 }
                }
            }
        },
        conflict("a policy of the application's own", MergePolicy(OwnResolver())),
        GrowthCase("save of many new unique values that begin alike", 1) { store in
            let labels = try store.labels()
            try labels.context().delete(Bottle.self, where: #Predicate<Bottle> { $0.number < 0 })
            let context = labels.context()
            let beginning = String(repeating: "p", count: 600)
            return {
                for number in 0..<labels.count / 10 {
                    let bottle = Bottle(context: context)
                    (bottle.number, bottle.serial) = (-1, beginning + "\(number)")
                }
                try context.save()
            }
        },
        GrowthCase("save of many new unique values that are taken, changed by a policy of one's own", 1) { store in
            let labels = try store.labels()
            try labels.context().delete(Bottle.self, where: #Predicate<Bottle> { $0.number < 0 })
            let context = labels.context()
            try context.setMergePolicy(MergePolicy(OwnResolver()), for: Bottle.self)
            return {
                for number in 0..<labels.count / 10 {
                    let bottle = Bottle(context: context)
                    (bottle.number, bottle.serial) = (-1, PaperStore.code("b", number))
                }
                try context.save()
            }
        },
        GrowthCase("uniquenessConflicts of all, changed", 1, work: .tables) { store in
            let context = store.context()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return {
                blackHole(context.uniquenessConflicts().count)
                withExtendedLifetime(papers) {}
            }
        },
        GrowthCase("setMergePolicy and mergePolicy of an entity", 0) { store in
            let context = store.context()
            return {
                try context.setMergePolicy(.objectTrump, forEntityNamed: "Paper")
                blackHole(context.mergePolicy(forEntityNamed: "Paper") == .objectTrump)
            }
        },
    ]

    // MARK: Delete rules

    /// A deletion of the owner of all bottles, and what follows from the rule; it is rolled back.
    ///
    /// - Parameter counts: whether the bottles are counted before.
    private static func ownerDeletion(
        _ name: String, _ power: Double = 1, owner: String, atEndOfEvent: Bool = true, isRefused: Bool = false,
        counts: Bool = false
    ) -> GrowthCase {
        GrowthCase("delete an owner of all: " + name, power) { store in
            let context = try store.labels().context()
            context.propagatesDeletesAtEndOfEvent = atEndOfEvent
            let request = FetchRequest<Crate>(try FetchPredicate(format: "name == %@", owner))
            let crate = try found(try context.fetch(request).first)
            blackHole(crate.name.utf8.count)
            return {
                try context.delete(crate)
                context.processPendingChanges()
                if counts { blackHole(try context.count(for: FetchRequest<Bottle>())) }
                if isRefused {
                    var failure: ContextError?
                    do throws(ContextError) { try context.save() } catch { failure = error }
                    blackHole(try found(failure))
                }
                context.rollback()
            }
        }
    }

    static let rules: [GrowthCase] = [
        ownerDeletion("cascade", owner: "crate"),
        ownerDeletion("cascade, and a count of what is left", owner: "crate", counts: true),
        ownerDeletion("cascade, left to the save", 0, owner: "crate", atEndOfEvent: false),
        ownerDeletion("deny", owner: "keeper", isRefused: true),
        GrowthCase("delete all, their owner first, which denies, and processPendingChanges", 1) { store in
            let context = try store.labels().context()
            let (crates, bottles) = (
                try context.fetch(FetchRequest<Crate>()), try context.fetch(FetchRequest<Bottle>())
            )
            return {
                for crate in crates { try context.delete(crate) }
                for bottle in bottles { try context.delete(bottle) }
                context.processPendingChanges()
                context.rollback()
            }
        },
    ]

    // MARK: Typed methods of objects

    static let properties: [GrowthCase] = [
        value("isChanged(_:)") { blackHole(try $0.isChanged(\.touched) && !$0.isChanged(\.word)) },
        value("committedValue(of:), an attribute") { blackHole(try $0.committedValue(of: \.number)) },
        value("committedValue(of:), to-one") { blackHole(try $0.committedValue(of: \.shelf)?.id) },
        value("destinationRef(of:)") { blackHole(try $0.destinationRef(of: \.shelf)?.id) },
        value("destinationRefs(of:)") { blackHole(try $0.destinationRefs(of: \.topics).count) },
        value("hasFault(for:)") { blackHole(try $0.hasFault(for: \.shelf) || $0.hasFault(for: \.topics)) },
        value("primitiveValue(of:), setPrimitiveValue(_:for:)") { paper in
            let number: Int = try found(try paper.primitiveValue(of: \.number))
            try paper.willChangeValue(for: \.number)
            try paper.setPrimitiveValue(number, for: \.number)
            try paper.didChangeValue(for: \.number)
        },
        value("checkValue") { paper in
            var value = PropertyValue.attribute(.integer(7))
            try paper.checkValue(&value, forKey: "number", of: \Paper.number) { (number: inout Int) in number += 1 }
            blackHole(value == .attribute(.integer(8)))
        },
        value("validateValue(_:for:)") { paper in
            var number = 7
            try paper.validateValue(&number, for: \.number)
        },
        GrowthCase("isChangedInEvent, each", 1, work: .tables) { store in
            let context = store.context()
            context.recordsChangesOfEvent = true
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            return { for paper in papers { blackHole(try paper.isChangedInEvent(\.touched)) } }
        },
    ]
}
