// A relationship with many members costs the same as one with few: an insertion, a look-up, a count, a save. The steps,
// rows and trips of each are counted.
//
// `ESPALIER_MEMBERS=100000` runs with 1,000 members, then with ten times as many each time up to that number, and
// prints the times. It also requires each step to take less than 0.1 s in a debug build, and a count, for which the
// store visits leaves, less than 1 s.

import Espalier
import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct LiveGrowthTests {
    @Test func `one member more in a relationship of many loads none of the others`() throws {
        let most = campaignCount("ESPALIER_MEMBERS", default: 3000)
        var count = min(1000, most)
        var first: [Cost] = []
        while count <= most {
            let times = try Self.costs(count)
            if first.isEmpty { first = times }
            for (few, many) in zip(first, times) {
                // A count visits leaves, of which three times as many members have three times as many.
                #expect(
                    many.steps <= 2 * few.steps + 16 || many.name.hasPrefix("count"),
                    "\(many.name): \(few.steps) steps with the fewest members, \(many.steps) with \(count)")
                #expect(many.steps <= few.steps + count / 20 + 16, "\(many.name): \(many.steps) steps with \(count)")
            }
            if most > 3000 {
                let text = times.map { "\($0.name) \(Int($0.microseconds))" }.joined(separator: ", ")
                print("\(count) members, microseconds: \(text)")
                for time in times {
                    let most = time.name.hasPrefix("count") ? 1_000_000.0 : 100_000
                    #expect(time.microseconds < most, "\(count) members, \(time.name)")
                }
            }
            count *= count < most && count * 10 > most ? most / count : 10
        }
    }

    /// The cost of one operation.
    private struct Cost {
        let name: String
        let microseconds: Double
        /// Steps, and 16 for each trip.
        let steps: Int
    }

    /// The cost of each operation in a file whose one boss has `count` reports, marks and skills.
    private static func costs(_ count: Int) throws -> [Cost] {
        let stack = try Stack(.btree, classes: teamClasses)
        let boss = try makeBoss(stack, count)
        let context = stack.context
        let owner = try #require(try context.existingObject(with: boss) as? Member)
        let (last, skill) = try (
            #require(try context.fetch(request(Member.self, count)).first),
            #require(try context.fetch(request(Skill.self, count)).first)
        )
        #expect(last.boss === owner)
        let rowsFetched = context.rowsFetched
        var costs: [Cost] = []
        func time(_ name: String, _ body: () throws -> Void) throws {
            let clock = ContinuousClock()
            var duration = Duration.zero
            let steps = try work(context) { duration = try clock.measure(body) }
            costs.append(Cost(name: name, microseconds: duration / .microseconds(1), steps: steps))
        }

        try time("count") { #expect(owner.reports.count == count) }
        try time("count of many to many") { #expect(owner.skills.count == count) }
        try time("contains") { #expect(owner.reports.contains(last) && owner.skills.contains(skill)) }
        try time("insert") {
            owner.reports.insert(Member(context: context))
            owner.skills.insert(Skill(context: context))
            owner.marks.insert(Skill(context: context))
        }
        try time("count after it") { #expect(owner.reports.count == count + 1 && owner.skills.count == count + 1) }
        try time("remove") {
            #expect(owner.skills.remove(skill) === skill && owner.marks.remove(skill) === skill)
            #expect(owner.reports.remove(last) === last)
        }
        try time("save") { try context.save() }
        try time("count of none") { #expect(!owner.marks.isEmpty && owner.queue.isEmpty) }
        try time("count again") { #expect(owner.reports.count == count && owner.skills.count == count) }

        #expect(context.rowsFetched == rowsFetched, "a row of another member was read")
        for name in ["reports", "skills", "marks"] { #expect(owner.hasFault(forRelationshipNamed: name), "\(name)") }
        #expect(owner.marks.count == count)
        return costs
    }

    private static func request<Object: ManagedObject>(_ type: Object.Type, _ number: Int) throws -> FetchRequest<
        Object
    > {
        FetchRequest<Object>(try FetchPredicate(format: "number == %@", number))
    }

    private static func makeBoss(_ stack: Stack, _ count: Int) throws -> ObjectID {
        let context = stack.newContext()
        let boss = Member(context: context)
        for number in 1...count {
            let (member, skill) = (Member(context: context), Skill(context: context))
            (member.number, member.boss, skill.number) = (number, boss, number)
            boss.skills.insert(skill)
            boss.marks.insert(skill)
        }
        try context.save()
        return boss.objectID
    }
}
