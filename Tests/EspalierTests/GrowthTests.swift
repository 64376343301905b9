// No operation grows faster than it must: debug builds count steps and rows, with 1,000 objects and with 10,000.
//
// `bench --growth` measures time, and more workloads (Benchmarks/Growth.md).

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct GrowthTests {
    // MARK: Faults

    @Test func `reading a relationship of every owner costs as much for each, however many there are`() throws {
        try expectGrowth(1) { stack in
            let context = stack.newContext()
            return try work(context) {
                for drawer in try context.fetch(FetchRequest<Drawer>()) {
                    for paper in drawer.papers { #expect(paper.number >= 0) }
                }
                #expect(context.faultTrips < 12, "\(context.faultTrips) trips")
            }
        }
    }

    @Test func `walking on from what many owners lead to takes few trips`() throws {
        let stack = try Stack.ofPapers(5000, haveAuthors: true)
        let context = stack.newContext()

        for drawer in try context.fetch(FetchRequest<Drawer>()) {
            for paper in drawer.papers { #expect(paper.author?.name.isEmpty == true) }
        }

        #expect(context.faultTrips < 20, "\(context.faultTrips) trips")
    }

    @Test func `refreshing objects one by one and reading them costs as much for each, however many there are`() throws
    {
        try expectGrowth(1) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            return try work(context) {
                for paper in papers {
                    context.refresh(paper, mergesChanges: false)
                    #expect(paper.number >= 0)
                }
            }
        }
    }

    @Test func `refreshing objects beside pending deletions costs as much for each`() throws {
        try expectGrowth(1) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { try context.delete(paper) }
            return try work(context) {
                for paper in papers { context.refresh(paper, mergesChanges: false) }
                context.processPendingChanges()
                #expect(!context.hasChanges)
            }
        }
    }

    // MARK: Children

    @Test func `a child's walk over sorted objects costs as much for each, beside an unsaved change of its parent`()
        throws
    {
        let inDrawers = try FetchPredicate(format: "drawer.code BEGINSWITH 's'")
        try expectGrowth(1.1, 200, 2000) { stack in
            let root = stack.newContext()
            let all = try root.count(for: FetchRequest<Paper>())
            // No paper leads to it.
            let drawer = Drawer(context: root)
            try root.save()
            drawer.code = "empty"
            let child = ManagedObjectContext(parent: root)
            return try work(child) {
                for condition in [nil, inDrawers] {
                    var count = 0
                    let request = FetchRequest<Paper>(condition, sortedBy: [SortKey("code")])
                    try child.enumerate(request, batchSize: 20) { _ in count += 1 }
                    #expect(count == all)
                }
            }
        }
    }

    @Test func `a save through two levels of children costs as much for each object`() throws {
        try expectGrowth(1) { stack in
            let root = stack.newContext()
            let child = ManagedObjectContext(parent: root)
            let grandchild = ManagedObjectContext(parent: child)
            return try work(root) {
                for paper in try grandchild.fetch(FetchRequest<Paper>()) {
                    paper.number += 1
                    Paper(context: grandchild).drawer = paper.drawer
                }
                for context in [grandchild, child, root] { try context.save() }
                #expect(!root.hasChanges)
            }
        }
    }

    @Test func `making a child of a context costs as much for each, however many live`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            return try work(context) {
                let children = (0..<count).map { _ in ManagedObjectContext(parent: context) }
                #expect(children.allSatisfy { $0.parent === context })
            }
        }
    }

    @Test func `reading in a child costs the same beside many unsaved objects of its parent`() throws {
        try expectGrowth(1) { stack in
            let root = stack.newContext()
            let child = ManagedObjectContext(parent: root)
            let papers = try root.fetch(FetchRequest<Paper>())
            for paper in papers { paper.number += 1 }
            let ids = papers.map(\.objectID)
            return try work(child) {
                for id in ids {
                    _ = try child.existingObject(with: id)
                    child.processPendingChanges()
                }
            }
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a save of a child costs the same beside many unsaved objects of its parent`(_ change: Int) throws {
        try expectGrowth(0) { stack in
            let root = stack.newContext()
            let papers = try root.fetch(FetchRequest<Paper>())
            // The first read of a relationship is for all objects that were fetched together.
            for paper in papers { paper.number += paper.drawer?.code.isEmpty == false ? 1 : 0 }
            let child = ManagedObjectContext(parent: root)
            let mine = try #require(try child.existingObject(with: papers[papers.count / 2].objectID) as? Paper)
            return try work(child) {
                switch change {
                case 0: mine.number += 1
                case 1: Paper(context: child).drawer = mine.drawer
                default: try child.delete(mine)
                }
                try child.save()
                papers[7].number += 1
                child.processPendingChanges()
                let others = try child.existingObject(with: papers[7].objectID) as? Paper
                #expect(others?.number == papers[7].number && root.hasChanges)
            }
        }
    }

    // MARK: Changes

    @Test func `deleting one by one costs as much for each, saved and unsaved ones`() throws {
        try expectGrowth(1) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            let new = papers.map { _ in Paper(context: context) }
            return try work(context) {
                for (paper, other) in zip(papers, new) {
                    try context.delete(paper)
                    try context.delete(other)
                    context.processPendingChanges()
                }
                #expect(context.deletedObjects.count == papers.count && context.insertedObjects.isEmpty)
            }
        }
    }

    @Test func `a permanent ID costs as much beside many new objects as beside few`() throws {
        try expectGrowth(0) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            var papers: [Paper] = []
            for _ in 0..<count {
                let (drawer, paper) = (Drawer(context: context), Paper(context: context))
                paper.drawer = drawer
                papers.append(paper)
            }
            let (first, last) = (papers[0], papers[papers.count - 1])
            try context.obtainPermanentIDs(for: [first])
            return try work(context) {
                try context.obtainPermanentIDs(for: [last])
                #expect(!last.objectID.isTemporary && last.drawer?.papers.contains(last) == true)
            }
        }
    }

    // MARK: Fetching beside unsaved changes

    @Test func `counting beside unsaved changes reads no rows but theirs`() throws {
        try expectGrowth(0) { stack in
            let context = stack.newContext()
            let request = FetchRequest<Paper>(try FetchPredicate(format: "code < %@", "c000100"))
            let stored = try context.count(for: request)
            let all = try context.count(for: FetchRequest<Paper>())
            let paper = Paper(context: context)
            paper.code = "c000001"
            let other = try #require(try context.fetch(request).first)
            other.code = "x"
            try context.delete(try #require(try context.fetch(request).last { !$0.isInserted }))
            return try work(context) {
                let counts = (try context.count(for: request), try context.count(for: FetchRequest<Paper>()))
                #expect(counts == (stored - 1, all))
            }
        }
    }

    @Test func `one unsaved owner does not make a fetch by owners read all rows`() throws {
        try expectGrowth(0) { stack in
            let context = stack.newContext()
            let new = Drawer(context: context)
            new.code = "s000007"
            let changed = try #require(
                try context.fetch(FetchRequest<Drawer>(try FetchPredicate(format: "code == %@", "s000008"))).first)
            changed.code = "s000007"
            let request = FetchRequest<Paper>(
                try FetchPredicate(format: "drawer.code == %@", "s000007"), sortedBy: [SortKey("number")])
            return try work(context) {
                let found = try context.fetch(request)
                #expect(found.map(\.number) == [7, 8])
            }
        }
    }

    @Test func `finding or making objects one by one costs as much for each, saved or not`() throws {
        try expectGrowth(1) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            return try work(context) {
                for number in count / 2..<count + count / 2 {
                    let code = Stack.code("c", number)
                    for isFirst in [true, false] {
                        let found = try context.fetch(
                            FetchRequest<Paper>(try FetchPredicate(format: "code == %@", code)))
                        #expect(found.count == (isFirst && number >= count ? 0 : 1))
                        let paper = found.first ?? Paper(context: context)
                        paper.code = code
                        paper.number += 1
                    }
                }
            }
        }
    }

    // MARK: Queries

    @Test(arguments: [
        ("kind == 3", 0.0), ("kind > 3", 0.5), ("code BEGINSWITH 'c'", 0.5), ("code > 'c000010'", 0.5),
        ("code BEGINSWITH 'c0000'", 0), ("kind IN {2, 3}", 0.5),
    ])
    func `a limit ends what an index is read for`(_ format: String, _ power: Double) throws {
        try expectGrowth(power) { stack in
            let context = stack.newContext()
            var request = FetchRequest<Paper>(try FetchPredicate(format: format))
            request.fetchLimit = 10
            return try work(context) {
                let found = try context.fetch(request)
                #expect(found.count == 10)
            }
        }
    }

    @Test(arguments: [
        ("code BEGINSWITH 'c'", "code", true), ("code BEGINSWITH 'c'", "code", false),
        ("code BEGINSWITH 'c0000'", "code", true), ("kind >= 0", "kind", false), ("TRUEPREDICATE", "kind", false),
        ("TRUEPREDICATE", "note", true), ("TRUEPREDICATE", "note", false),
    ])
    func `a limit ends the way along an index, whatever its values`(
        _ format: String, _ key: String, _ isAscending: Bool
    ) throws {
        try expectGrowth(0) { stack in
            let context = stack.newContext()
            var request = FetchRequest<Paper>(
                try FetchPredicate(format: format), sortedBy: [SortKey(key, ascending: isAscending)])
            request.fetchLimit = 10
            return try work(context) {
                let found = try context.fetch(request)
                #expect(found.count == 10)
            }
        }
    }

    @Test func `many constants are looked up in an index, as a list and as alternatives`() throws {
        try expectGrowth(0) { stack in
            let context = stack.newContext()
            let codes = (0..<60).map { Stack.code("c", 10 * $0) }
            let list = FetchRequest<Paper>(try FetchPredicate(format: "code IN %@", codes))
            let alternatives = FetchRequest<Paper>(
                try FetchPredicate(format: codes.map { "code == '\($0)'" }.joined(separator: " OR ")))
            return try work(context) {
                let counts = (try context.fetch(list).count, try context.fetch(alternatives).count)
                #expect(counts == (60, 60))
            }
        }
    }

    @Test(arguments: [1, 3])
    func `a fetch by a reference costs as much for each object that it returns`(_ share: Int) throws {
        let formats = ["member == %@", "member.number == 7", "boss == %@", "boss.number == 7"]
        func work(_ count: Int) throws -> [Int] {
            let stack = try Stack(.btree, classes: teamClasses)
            let context = stack.newContext()
            let owner = Member(context: context)
            owner.number = 7
            for number in 0..<count {
                let (duty, member) = (Duty(context: context), Member(context: context))
                if number % share == 0 { (duty.member, member.boss) = (owner, owner) }
            }
            try context.save()
            return try formats.map { format in
                let reader = stack.newContext()
                let predicate =
                    format.hasSuffix("7")
                    ? try FetchPredicate(format: format) : try FetchPredicate(format: format, owner.objectID)
                let request = FetchRequest<ManagedObject>(
                    entityName: format.hasPrefix("member") ? "Duty" : "Member", predicate: predicate)
                var found: [ManagedObject] = []
                let (steps, rows) = try StepCount.count { found = try reader.fetch(request) }
                #expect(found.count == (count + share - 1) / share)
                #expect(rows <= 3 * found.count + 1000, "\(rows) rows were read for \(found.count)")
                return steps + rows
            }
        }
        for (format, (few, many)) in zip(formats, zip(try work(200), try work(2000))) {
            #expect(many <= 14 * few, "\(format): \(few) steps and rows with 200 objects, \(many) with 2,000")
        }
    }

    @Test func `pages by offset over an index read the rows of the page alone, and pass leaves as a whole`() throws {
        for stack in try [Stack.ofPapers(1000), Stack.ofPapers(3000)] {
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            var request = FetchRequest<Paper>(sortedBy: [SortKey("code")])
            (request.fetchOffset, request.fetchLimit) = (count - 10, 10)

            var found: [Paper] = []
            let (steps, rows) = try StepCount.count { found = try context.fetch(request) }

            #expect(found.map(\.number) == Array(count - 10..<count))
            #expect(rows <= 10, "\(rows) rows were read for the last ten of \(count)")
            #expect(steps < count / 4 + 250, "\(steps) steps were taken for the last ten of \(count)")
        }
    }

    @Test func `values that an index has cut come in their order, both ways`() throws {
        let stack = try Stack.ofPapers(100)
        let context = stack.newContext()
        var request = FetchRequest<Paper>(sortedBy: [SortKey("note")])
        request.fetchLimit = 60

        let ascending = try context.fetch(request).map(\.number)
        request.sortKeys = [SortKey("note", ascending: false)]
        let descending = try context.fetch(request).map(\.number)

        #expect(ascending == Array(0..<50) + [51, 50] + Array(52..<60))
        #expect(descending == Array((52..<100).reversed()) + [50, 51] + Array((40..<50).reversed()))
    }

    @Test func `what many objects lead to is asked once for all of them`() throws {
        try expectGrowth(1, 200, 2000) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            for paper in papers { paper.drawer = papers[0].drawer }
            try context.save()
            let reader = stack.newContext()
            return try work(reader) {
                for (format, count) in [
                    ("drawer.papers.@count == \(papers.count)", papers.count),
                    ("ANY drawer.papers.number == 3", papers.count),
                    ("ALL drawer.papers.number > 3", 0), ("drawer.papers.@max.number < 3", 0),
                    ("SUBQUERY(drawer.papers, $p, $p.number == 3).@count == 1", papers.count),
                    // Two questions about one list.
                    ("ANY drawer.papers.number == 3 AND ALL drawer.papers.number > 3", 0),
                ] {
                    let request = FetchRequest<Paper>(try FetchPredicate(format: format))
                    #expect(try reader.count(for: request) == count, "\(format)")
                }
            }
        }
    }
}
