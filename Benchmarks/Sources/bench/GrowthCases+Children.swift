// The operations of `bench --growth` that child contexts and undo add.

import BenchKit
import Espalier

extension GrowthCases {
    // MARK: Children

    /// An operation in a child of a context that has all papers in memory; in the parent, half of them are changed.
    ///
    /// - Parameter hasRead: whether the child has read something before, and with it the changes of the parent.
    private static func child(
        _ name: String, _ power: Double, reason: String = "", work: GrowthCase.Work? = nil, hasRead: Bool = false,
        _ body: @escaping @Sendable (_ child: ManagedObjectContext, _ papers: [Paper]) throws -> Void
    ) -> GrowthCase {
        GrowthCase("child: " + name, power, reason: reason, work: work) { store in
            let parent = store.context()
            let papers = try all(parent)
            for paper in papers where paper.number.isMultiple(of: 2) { paper.touched += 1 }
            let child = ManagedObjectContext(parent: parent)
            if hasRead { blackHole(try child.existingObject(with: papers[1].objectID).isFault) }
            return {
                try body(child, papers)
                withExtendedLifetime(parent) {}
            }
        }
    }

    static let children: [GrowthCase] = [
        child("fetch all, read an attribute", 1, reason: "the parent looks each of its objects up", work: .tables) {
            child, _ in
            for paper in try all(child) { blackHole(paper.touched) }
        },
        child("fetch all, read to-one", 1) { child, _ in for paper in try all(child) { blackHole(paper.shelf?.code) } },
        child("existingObject(with:), each", 1) { child, papers in
            for paper in papers { blackHole(try child.existingObject(with: paper.objectID).isFault) }
        },
        child("count beside all that are changed above", 1, reason: "each change above is compared with the condition")
        {
            child, _ in
            let predicate = try FetchPredicate(format: "kind == 3")
            blackHole(try child.count(for: FetchRequest<Paper>(predicate)))
        },
        child("update all, save", 1) { child, _ in
            for paper in try all(child) { paper.touched += 1 }
            try child.save()
        },
        child("insert all, save", 1) { child, papers in
            for _ in papers { blackHole(Paper(context: child).isInserted) }
            try child.save()
        },
        child("delete all, save", 1) { child, _ in
            for paper in try all(child) { try child.delete(paper) }
            try child.save()
        },
        child("first read of one beside all that are changed above", 1, reason: "each change above is noted once") {
            child, papers in
            blackHole(try child.existingObject(with: papers[0].objectID).isFault)
        },
        child("save of one among all", 0, hasRead: true) { child, papers in
            let mine = try found(try child.existingObject(with: papers[0].objectID) as? Paper)
            mine.touched += 1
            try child.save()
        },
        child("refresh(false), each", 1) { child, papers in
            for paper in papers { child.refresh(try child.object(with: paper.objectID), mergesChanges: false) }
        },
        child(
            "detectConflicts, each of all, changed", 1, reason: "each is noted in a table of locked objects",
            work: .tables
        ) { child, _ in
            let mine = try all(child)
            for paper in mine { paper.touched += 1 }
            for paper in mine { try child.detectConflicts(for: paper) }
        },
    ]

    /// An operation in the child of a child of a context that has all papers in memory; half of them are changed in it.
    private static func grandchild(
        _ name: String, _ power: Double, hasRead: Bool = false,
        _ body: @escaping @Sendable (_ grandchild: ManagedObjectContext, _ papers: [Paper]) throws -> Void
    ) -> GrowthCase {
        GrowthCase("grandchild: " + name, power) { store in
            let root = store.context()
            let papers = try all(root)
            for paper in papers where paper.number.isMultiple(of: 2) { paper.touched += 1 }
            let child = ManagedObjectContext(parent: root)
            let grandchild = ManagedObjectContext(parent: child)
            if hasRead { blackHole(try grandchild.existingObject(with: papers[1].objectID).isFault) }
            return {
                try body(grandchild, papers)
                try child.save()
                withExtendedLifetime(root) {}
            }
        }
    }

    static let grandchildren: [GrowthCase] = [
        grandchild("update all, save at both levels", 1) { grandchild, _ in
            for paper in try all(grandchild) { paper.touched += 1 }
            try grandchild.save()
        },
        grandchild("insert all, save at both levels", 1) { grandchild, papers in
            for _ in papers { blackHole(Paper(context: grandchild).isInserted) }
            try grandchild.save()
        },
        grandchild("save of one among all at both levels", 0, hasRead: true) { grandchild, papers in
            let mine = try found(try grandchild.existingObject(with: papers[0].objectID) as? Paper)
            mine.touched += 1
            try grandchild.save()
        },
    ]

    // MARK: Undo

    /// An operation on a context with an undo manager, in which all papers were changed by one event.
    private static func undoable(
        _ name: String, _ power: Double, reason: String = "",
        _ body: @escaping @Sendable (ManagedObjectContext, [Paper]) throws -> Void
    ) -> GrowthCase {
        GrowthCase("undo: " + name, power, reason: reason) { store in
            let context = store.context()
            context.undoManager = UndoStack()
            let papers = try all(context)
            for paper in papers { paper.touched += 1 }
            context.processPendingChanges()
            return { try body(context, papers) }
        }
    }

    static let undo: [GrowthCase] = [
        GrowthCase("undo: one event that changes all", 1) { store in
            let context = store.context()
            context.undoManager = UndoStack()
            let papers = try all(context)
            return {
                for paper in papers { paper.touched += 1 }
                context.processPendingChanges()
            }
        },
        undoable("undo of all, redo of all", 1) { context, papers in
            try context.undo()
            try context.redo()
            withExtendedLifetime(papers) {}
        },
        undoable("change of one among all, undo", 0) { context, papers in
            papers[0].touched += 1
            try context.undo()
        },
        undoable("an event for each", 1) { context, papers in
            for paper in papers {
                paper.touched += 1
                context.processPendingChanges()
            }
        },
        undoable("an event for each, undo of each", 1) { context, papers in
            for paper in papers {
                paper.touched += 1
                context.processPendingChanges()
            }
            for _ in papers { try context.undo() }
        },
        undoable("insert all, delete all, undo twice", 1) { context, papers in
            for _ in papers { blackHole(Topic(context: context).isInserted) }
            context.processPendingChanges()
            for paper in papers { try context.delete(paper) }
            context.processPendingChanges()
            for _ in 0..<2 { try context.undo() }
        },
        undoable("delete all, whose rules run in the save only, undo of each", 1) { context, papers in
            context.propagatesDeletesAtEndOfEvent = false
            for paper in papers {
                try context.delete(paper)
                context.processPendingChanges()
            }
            for _ in papers { try context.undo() }
        },
        undoable("order of all changed, undo", 1) { context, papers in
            let shelf = try shelf(context)
            for number in papers.indices { shelf.listed.move(from: 0, to: number) }
            try context.undo()
        },
        undoable("rollback", 1) { context, papers in
            context.rollback()
            withExtendedLifetime(papers) {}
        },
        undoable("UndoStack: registerUndo, each, and removeAllActions(withTarget:)", 1) { context, papers in
            let stack = try found(context.undoManager)
            for paper in papers { stack.registerUndo(withTarget: paper) { blackHole($0.isFault) } }
            stack.removeAllActions(withTarget: papers[0])
        },
        undoable("UndoStack: a group for each, levels limited to 10", 1) { context, papers in
            let stack = try found(context.undoManager)
            stack.levelsOfUndo = 10
            for paper in papers {
                stack.beginUndoGrouping()
                stack.registerUndo(withTarget: paper) { blackHole($0.isFault) }
                stack.setActionName("one")
                try stack.endUndoGrouping()
            }
            blackHole(stack.undoCount + stack.redoCount)
        },
        undoable("UndoStack: removeAllActions", 1) { context, papers in
            context.undoManager?.removeAllActions()
            withExtendedLifetime(papers) {}
        },
    ]
}
