// Changes, merges and requests for many rows cost no more for each object, however many there are: debug builds count
// steps and rows, with 100 objects and with 1,000.

import Espalier
import EspalierModel
import Testing

@Suite struct ChangeGrowthTests {
    // MARK: Relationships

    @Test(arguments: [false, true])
    func `inserting into a relationship one by one costs as much for each`(_ isStored: Bool) throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let owner = try Self.owner(isStored, context)
            return try work(context) {
                let papers = try context.fetch(FetchRequest<Paper>())
                for paper in papers {
                    owner.papers.insert(paper)
                    #expect(paper.drawer === owner && owner.papers.contains(paper))
                }
                #expect(owner.papers.count == papers.count)
            }
        }
    }

    @Test(arguments: [false, true])
    func `setting a to-one relationship and counting its inverse costs as much for each`(_ isStored: Bool) throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let owner = try Self.owner(isStored, context)
            return try work(context) {
                var counts: [Int] = []
                for paper in try context.fetch(FetchRequest<Paper>()) {
                    paper.drawer = owner
                    counts.append(owner.papers.count)
                }
                #expect(counts.sorted() == counts && counts.last == counts.count)
            }
        }
    }

    @Test func `inserting and removing from the hub of a many-to-many relationship costs as much for each`() throws {
        try expectGrowth(1, 100, 1000, making: Self.team) { stack in
            let context = stack.newContext()
            let hub = try #require(try context.fetch(FetchRequest<Member>()).first)
            return try work(context) {
                let skills = try context.fetch(FetchRequest<Skill>())
                for (number, skill) in skills.enumerated() {
                    hub.skills.insert(skill)
                    #expect(hub.skills.count == number + 1)
                }
                for (number, skill) in skills.enumerated() {
                    #expect(hub.skills.remove(skill) === skill)
                    #expect(hub.skills.count == skills.count - number - 1)
                }
            }
        }
    }

    @Test func `removing from the saved hub of a many-to-many relationship costs as much for each`() throws {
        try expectGrowth(1, 100, 1000, making: Self.team) { stack in
            let writer = stack.newContext()
            let saved = try #require(try writer.fetch(FetchRequest<Member>()).first)
            saved.skills.formUnion(try writer.fetch(FetchRequest<Skill>()))
            try writer.save()
            let context = stack.newContext()
            let hub = try #require(try context.fetch(FetchRequest<Member>()).first)
            return try work(context) {
                for skill in try context.fetch(FetchRequest<Skill>()) {
                    hub.skills.remove(skill)
                    #expect(!hub.skills.contains(skill))
                }
                #expect(hub.skills.isEmpty)
            }
        }
    }

    @Test(arguments: [false, true])
    func `appending and inserting in an ordered relationship costs as much for each`(_ isAtFront: Bool) throws {
        try expectGrowth(1, 100, 1000, making: Self.team) { stack in
            let context = stack.newContext()
            let owner = try #require(try context.fetch(FetchRequest<Member>()).first)
            return try work(context) {
                let duties = try context.fetch(FetchRequest<Duty>())
                for duty in duties {
                    if isAtFront { owner.duties.insert(duty, at: 0) } else { owner.duties.append(duty) }
                    #expect(duty.member === owner)
                }
                #expect(owner.duties.count == duties.count)
                #expect((isAtFront ? owner.duties.last : owner.duties.first) === duties.first)
            }
        }
    }

    // MARK: Refreshing and merging

    @Test(arguments: [false, true])
    func `refreshing changed objects costs as much for each, one by one and at once`(_ isAtOnce: Bool) throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { paper.kind = 70 }
            let other = stack.newContext()
            for paper in try other.fetch(FetchRequest<Paper>()) { paper.number += 1000 }
            try other.save()
            return try work(context) {
                if isAtOnce {
                    context.refreshAllObjects()
                } else {
                    for paper in papers { context.refresh(paper, mergesChanges: true) }
                }
                for paper in papers { #expect(paper.kind == 70 && paper.number >= 1000) }
            }
        }
    }

    @Test func `a merge of updates into changed objects costs as much for each`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let (context, other) = (stack.newContext(), stack.newContext())
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { paper.kind = 70 }
            for paper in try other.fetch(FetchRequest<Paper>()) { paper.number += 1000 }
            try other.save()
            return try work(context) {
                context.mergeChanges(from: SavedChanges(updated: papers.map(\.objectID)))
                for paper in papers { #expect(paper.kind == 70 && paper.number >= 1000) }
            }
        }
    }

    @Test func `a merge of deletions into deleted objects costs as much for each`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let (context, other) = (stack.newContext(), stack.newContext())
            let papers = try context.fetch(FetchRequest<Paper>())
            let ids = papers.map(\.objectID)
            for paper in papers { try context.delete(paper) }
            context.processPendingChanges()
            try other.execute(BatchDeleteRequest(objectIDs: ids))
            return try work(context) {
                context.mergeChanges(from: SavedChanges(deleted: ids))
                #expect(context.deletedObjects.isEmpty)
                #expect(papers.allSatisfy { $0.managedObjectContext == nil })
            }
        }
    }

    @Test func `a save whose deletions another context has saved costs as much for each`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let (context, other) = (stack.newContext(), stack.newContext())
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { try context.delete(paper) }
            for paper in try other.fetch(FetchRequest<Paper>()) { try other.delete(paper) }
            try other.save()
            return try work(context) {
                try context.save()
                #expect(!context.hasChanges && papers.allSatisfy { $0.managedObjectContext == nil })
            }
        }
    }

    @Test func `a merge of rows whose former owners both sides have deleted costs as much for each`() throws {
        try expectGrowth(1, 100, 1000, making: Self.owners) { stack in
            let (context, other) = (stack.newContext(), stack.newContext())
            let (duties, members) = (try context.fetch(FetchRequest<Duty>()), try context.fetch(FetchRequest<Member>()))
            for member in members { try context.delete(member) }
            context.processPendingChanges()
            for member in try other.fetch(FetchRequest<Member>()) { try other.delete(member) }
            try other.save()
            return try work(context) {
                context.mergeChanges(from: SavedChanges(updated: duties.map(\.objectID)))
                #expect(context.deletedObjects.isEmpty && members.allSatisfy { $0.managedObjectContext == nil })
                #expect(duties.allSatisfy { $0.member == nil })
            }
        }
    }

    @Test func `one more save of one object, merged and read, costs the same in a context of many`() throws {
        try expectGrowth(0, 100, 1000) { stack in
            let (context, other) = (stack.newContext(), stack.newContext())
            context.automaticallyMergesChangesFromParent = true
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { #expect(paper.number >= 0) }
            let mine = papers[papers.count / 2]
            let theirs = try #require(try other.existingObject(with: mine.objectID) as? Paper)
            func step() throws {
                theirs.number += 1
                try other.save()
                context.processPendingChanges()
                #expect(mine.number == theirs.number)
            }
            // The first trip of objects that were fetched together notes the position of each, and asks all of them.
            try step()
            return try work(context) { try step() }
        }
    }

    @Test func `one more refresh of one object, and a read, cost the same in a context of many`() throws {
        try expectGrowth(0, 100, 1000) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { #expect(paper.number >= 0) }
            func step() {
                context.refresh(papers[0], mergesChanges: false)
                #expect(papers[0].number >= 0)
            }
            step()
            return try work(context) { step() }
        }
    }

    @Test func `reading the others again after one was refreshed alone takes few trips`() throws {
        let stack = try Stack.ofPapers(2400)
        let context = stack.newContext()
        let papers = try context.fetch(FetchRequest<Paper>())
        for paper in [papers[0], papers[1200]] {
            context.refresh(paper, mergesChanges: false)
            #expect(paper.number >= 0)
        }
        let trips = context.faultTrips

        context.refreshAllObjects()
        for paper in papers[700...] + papers[..<700] { #expect(paper.number >= 0) }

        // The first trip finds that others need their rows, too, and goes on as long as it finds some.
        #expect(context.faultTrips - trips == 1)
    }

    @Test func `undoing deletions whose rules have not run costs as much for each`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            (context.propagatesDeletesAtEndOfEvent, context.undoManager) = (false, UndoStack())
            for paper in try context.fetch(FetchRequest<Paper>()) {
                try context.delete(paper)
                context.processPendingChanges()
            }
            return try work(context) {
                while context.undoManager?.canUndo == true { try context.undo() }
                #expect(!context.hasChanges)
                context.propagatesDeletesAtEndOfEvent = true
                context.processPendingChanges()
            }
        }
    }

    @Test func `an object that is deleted again and again is among those whose rules have not run a few times at most`()
        throws
    {
        let stack = try Stack.ofPapers(3)
        let context = stack.newContext()
        (context.propagatesDeletesAtEndOfEvent, context.undoManager) = (false, UndoStack())
        let paper = try #require(try context.fetch(FetchRequest<Paper>()).first)
        for _ in 0..<1000 {
            try context.delete(paper)
            try context.undo()
        }
        try context.delete(paper)
        context.propagatesDeletesAtEndOfEvent = true

        let steps = try work(context) { context.processPendingChanges() }

        #expect(paper.isDeleted && context.deletedObjects == [paper])
        #expect(steps < 200, "\(steps) steps for one deletion")
    }

    @Test func `a rollback costs as much for each new, changed and deleted object`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers {
                if paper.number.isMultiple(of: 2) { try context.delete(paper) } else { paper.kind = 70 }
                Drawer(context: context).papers.insert(Paper(context: context))
            }
            context.processPendingChanges()
            return try work(context) {
                context.rollback()
                #expect(!context.hasChanges && papers.allSatisfy { $0.kind == $0.number % 10 && !$0.isDeleted })
            }
        }
    }

    @Test func `a rollback passes over the changed objects twice, once for their values and once for their hooks`()
        throws
    {
        let stack = try Stack.ofPapers(1000)
        let context = stack.newContext()
        let papers = try context.fetch(FetchRequest<Paper>())
        for paper in papers { try context.delete(paper) }

        let (steps, _) = StepCount.count { context.rollback() }

        #expect(!context.hasChanges && papers.allSatisfy { !$0.isDeleted })
        #expect((papers.count...2 * papers.count + 100).contains(steps), "\(steps) steps for \(papers.count) objects")
    }

    // MARK: Many rows

    @Test(arguments: [false, true])
    func `a batch update costs as much for each row, also in a context that has them in memory`(
        _ isInMemory: Bool
    ) throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let papers = isInMemory ? try context.fetch(FetchRequest<Paper>()) : []
            let count = try context.count(for: FetchRequest<Paper>())
            return try work(context, isInStores: true) {
                let result = try context.execute(
                    BatchUpdateRequest(entityName: "Paper", propertiesToUpdate: ["number": 7]))
                #expect(result.count == count && papers.allSatisfy { $0.number == 7 })
            }
        }
    }

    @Test func `a batch update costs contexts with one object as much, however many rows it changes`() throws {
        try expectGrowth(0, 100, 1000) { stack in
            let (context, merging) = (stack.newContext(), stack.newContext())
            merging.automaticallyMergesChangesFromParent = true
            var request = FetchRequest<Paper>()
            request.fetchLimit = 1
            let papers = try context.fetch(request) + merging.fetch(request)
            let (steps, rows) = try StepCount.count {
                try context.execute(BatchUpdateRequest(entityName: "Paper", propertiesToUpdate: ["number": 7]))
                merging.processPendingChanges()
                #expect(papers.count == 2 && papers.allSatisfy { $0.number == 7 })
            }
            // Each row that the store visits is a step, too.
            return steps - rows
        }
    }

    @Test(arguments: ["kind", "number", "drawer"])
    func `grouping rows costs as much for each row, with few groups and with many`(_ key: String) throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            var request = ValueRequest(
                entityName: "Paper", columns: [FetchColumn(key), .sum("number", as: "sum"), .count(as: "count")])
            request.propertiesToGroupBy = [FetchColumn(key)]
            return try work(context, isInStores: true) {
                let groups = try context.fetch(request)
                #expect(groups.count == (key == "kind" ? 10 : count))
            }
        }
    }

    /// The last drawer of the store, or a new one.
    private static func owner(_ isStored: Bool, _ context: ManagedObjectContext) throws -> Drawer {
        guard isStored else { return Drawer(context: context) }
        return try #require(try context.fetch(FetchRequest<Drawer>()).last)
    }

    /// A store of `count` members with one duty each.
    private static func owners(_ count: Int) throws -> Stack {
        let stack = try Stack(.btree, classes: teamClasses)
        let context = stack.newContext()
        for _ in 0..<count { Member(context: context).duties.append(Duty(context: context)) }
        try context.save()
        return stack
    }

    /// A store of one member, and of `count` skills and duties that no relationship leads to.
    private static func team(_ count: Int) throws -> Stack {
        let stack = try Stack(.btree, classes: teamClasses)
        let context = stack.newContext()
        let member = Member(context: context)
        for number in 0..<count {
            let (skill, duty) = (Skill(context: context), Duty(context: context))
            (skill.number, duty.number) = (number, number)
        }
        try context.save()
        withExtendedLifetime(member) {}
        return stack
    }
}
