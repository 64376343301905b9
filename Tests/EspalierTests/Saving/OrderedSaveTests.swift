// The save of a few changes of a long order costs as much as in a short one.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct OrderedSaveTests {
    /// The kinds of ordered relationships: with a to-one inverse, with an unordered inverse, and without inverse.
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case duties, ranking, queue

        var testDescription: String { rawValue }

        func ids(_ member: Member) -> [ObjectID] {
            switch self {
            case .duties: member.duties.objectIDs
            case .ranking: member.ranking.objectIDs
            case .queue: member.queue.objectIDs
            }
        }

        func insert(_ member: Member, at index: Int) {
            guard let context = member.managedObjectContext else { return }
            switch self {
            case .duties: member.duties.insert(Duty(context: context), at: index)
            case .ranking: member.ranking.insert(Skill(context: context), at: index)
            case .queue: member.queue.insert(Skill(context: context), at: index)
            }
        }

        func move(_ member: Member, from source: Int, to target: Int) {
            switch self {
            case .duties: member.duties.move(from: source, to: target)
            case .ranking: member.ranking.move(from: source, to: target)
            case .queue: member.queue.move(from: source, to: target)
            }
        }

        func remove(_ member: Member, at index: Int) {
            switch self {
            case .duties: member.duties.remove(at: index)
            case .ranking: member.ranking.remove(at: index)
            case .queue: member.queue.remove(at: index)
            }
        }
    }

    enum Change: String, CaseIterable, CustomTestStringConvertible {
        case append, insert, insertAtFront, move, remove, removeFirst, delete, four

        var testDescription: String { rawValue }

        /// Changes a list of `count` members.
        func make(_ kind: Kind, _ member: Member, _ count: Int) throws {
            switch self {
            case .append: kind.insert(member, at: count)
            case .insert: kind.insert(member, at: count / 2)
            case .insertAtFront: kind.insert(member, at: 0)
            case .move: kind.move(member, from: count / 3, to: count / 2)
            case .remove: kind.remove(member, at: count / 3)
            case .removeFirst: kind.remove(member, at: 0)
            case .delete:
                let context = try #require(member.managedObjectContext)
                try context.delete(try context.existingObject(with: kind.ids(member)[count / 3]))
            case .four:
                kind.insert(member, at: count)
                kind.move(member, from: 0, to: count / 2)
                kind.remove(member, at: count / 3)
                kind.insert(member, at: count / 3)
            }
        }
    }

    private func makeStack(_ kind: Kind, _ count: Int, _ storeKind: StoreKind = .btree) throws -> Stack {
        let stack = try Stack(storeKind, classes: teamClasses)
        let context = stack.newContext()
        let member = Member(context: context)
        switch kind {
        case .duties: member.duties = OrderedToMany((0..<count).map { _ in Duty(context: context) })
        case .ranking: member.ranking = OrderedToMany((0..<count).map { _ in Skill(context: context) })
        case .queue: member.queue = OrderedToMany((0..<count).map { _ in Skill(context: context) })
        }
        try context.save()
        return stack
    }

    /// The steps and rows of a save after each change of a list of `count` members; expects that the store has the new
    /// orders.
    ///
    /// - Parameter isInChild: whether a child changes the list and saves, and the steps are those of its parent's save.
    private func costs(_ kind: Kind, _ count: Int, isInChild: Bool = false) throws -> [Change: Int] {
        let stack = try makeStack(kind, count)
        var costs: [Change: Int] = [:]
        for change in Change.allCases {
            // Without an inverse, no rule removes a deleted object from the lists in memory.
            if kind == .queue, change == .delete { continue }
            let context = stack.newContext()
            let member = try #require(try context.fetch(FetchRequest<Member>()).first)
            if isInChild {
                let child = ManagedObjectContext(parent: context)
                let same = try #require(try child.fetch(FetchRequest<Member>()).first)
                try change.make(kind, same, kind.ids(same).count)
                try child.save()
                #expect(kind.ids(same) == kind.ids(member), "\(change)")
            } else {
                try change.make(kind, member, kind.ids(member).count)
            }
            context.processPendingChanges()

            let (trips, rows) = (context.faultTrips, context.rowsFetched)
            let (steps, storeRows) = try StepCount.count { try context.save() }
            costs[change] = steps + storeRows + 16 * (context.faultTrips - trips) + context.rowsFetched - rows

            let reader = stack.newContext()
            let stored = kind.ids(try #require(try reader.fetch(FetchRequest<Member>()).first))
            #expect(stored == kind.ids(member), "\(change)")
        }
        let store = try #require(stack.coordinator.persistentStores.first as? BTreeStore)
        let report = try store.check()
        #expect(report.isOK && report.dangling.isEmpty, "\(report)")
        return costs
    }

    @Test(arguments: Kind.allCases)
    func `a save of few changes of an order costs as much, however long the order is`(_ kind: Kind) throws {
        let (few, many) = (try costs(kind, 1000), try costs(kind, 10_000))

        for (change, few) in few {
            let many = try #require(many[change])
            let exponent = log10(Double(max(many, 1)) / Double(max(few, 1)))
            #expect(few > 0 && exponent < 0.2, "\(change): \(few) steps with 1,000 members, \(many) with 10,000")
        }
    }

    @Test(arguments: Kind.allCases)
    func `a child's few changes of an order cost as much in its parent's save, however long the order is`(
        _ kind: Kind
    ) throws {
        let (few, many) = (try costs(kind, 1000, isInChild: true), try costs(kind, 4000, isInChild: true))

        for (change, few) in few {
            let many = try #require(many[change])
            let exponent = log(Double(max(many, 1)) / Double(max(few, 1))) / log(4)
            #expect(few > 0 && exponent < 0.3, "\(change): \(few) steps with 1,000 members, \(many) with 4,000")
        }
    }

    @Test(arguments: Kind.allCases)
    func `a queue whose first member leaves with each save costs as much for each save`(_ kind: Kind) throws {
        func cost(_ count: Int) throws -> Int {
            let stack = try makeStack(kind, count)
            let context = stack.newContext()
            let member = try #require(try context.fetch(FetchRequest<Member>()).first)
            var cost = 0
            for left in (count - 8..<count).reversed() {
                kind.remove(member, at: 0)
                context.processPendingChanges()
                cost += try StepCount.count { try context.save() }.steps
                #expect(kind.ids(member).count == left)
            }
            return cost
        }
        let (few, many) = (try cost(500), try cost(2000))
        #expect(many < 2 * few, "\(few) steps with 500 members, \(many) with 2,000")
    }

    @Test(arguments: Kind.allCases, StoreKind.allCases)
    func `every kind of store has the orders that a context and its child have saved`(
        _ kind: Kind, _ storeKind: StoreKind
    ) throws {
        for count in [0, 1, 40] {
            let stack = try makeStack(kind, count, storeKind)
            let root = stack.newContext()
            root.undoManager = UndoStack()
            let contexts = [root, ManagedObjectContext(parent: root)]
            for change in Change.allCases where count > 1 || [.append, .insert, .insertAtFront].contains(change) {
                for context in contexts {
                    let member = try #require(try context.fetch(FetchRequest<Member>()).first)
                    let inRoot = try #require(try root.existingObject(with: member.objectID) as? Member)
                    let former = kind.ids(inRoot)
                    try change.make(kind, member, kind.ids(member).count)
                    // The objects before the save, because a child reads the order of its parent after it.
                    let order = try kind.ids(member).map { try context.object(with: $0) }
                    try context.save()
                    let expected = kind.ids(member)
                    // The save removes a deleted object from a relationship without inverse.
                    #expect(change == .delete || order.map(\.objectID) == expected, "\(change) of \(count)")
                    #expect(kind.ids(inRoot) == expected, "\(change) of \(count)")
                    if change != .delete, change != .four {
                        try root.undo()
                        let undone = kind.ids(inRoot)
                        #expect(undone == former, "\(change) of \(count), undone")
                        try root.redo()
                        #expect(kind.ids(inRoot).count == expected.count, "\(change) of \(count), redone")
                    }
                    try root.save()
                    let reader = stack.newContext()
                    let stored = kind.ids(try #require(try reader.fetch(FetchRequest<Member>()).first))
                    #expect(stored == kind.ids(inRoot), "\(change) of \(count)")
                }
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `insertions at one place find room again and again`(_ kind: Kind) throws {
        let stack = try makeStack(kind, 40)
        let context = stack.newContext()
        let member = try #require(try context.fetch(FetchRequest<Member>()).first)
        for step in 0..<120 {
            kind.insert(member, at: 20 + step % 2)
            if step % 10 == 9 { kind.remove(member, at: 0) }
            try context.save()
            let reader = stack.newContext()
            let stored = kind.ids(try #require(try reader.fetch(FetchRequest<Member>()).first))
            #expect(stored == kind.ids(member), "step \(step)")
        }
        let store = try #require(stack.coordinator.persistentStores.first as? BTreeStore)
        #expect(try store.check().isOK)
    }

    @Test(arguments: Kind.allCases)
    func `an order that returns to what it was is no change`(_ kind: Kind) throws {
        let stack = try makeStack(kind, 1000)
        let context = stack.newContext()
        let member = try #require(try context.fetch(FetchRequest<Member>()).first)
        let other = stack.newContext()
        let same = try #require(try other.existingObject(with: member.objectID) as? Member)
        kind.move(member, from: 3, to: 700)
        kind.move(member, from: 700, to: 3)
        kind.move(same, from: 0, to: 1)
        try other.save()

        // The row is not written, or the other save would be in conflict with this one.
        try context.save()

        let stored = kind.ids(try #require(try stack.stored(Member.self).first))
        #expect(stored == kind.ids(same))
    }
}
