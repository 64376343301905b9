// Live collections without an owner: random changes against arrays, and their cost.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct LooseMembersTests {
    @Test func `collections without an owner are what arrays of different objects say`() throws {
        let first = testSeed(default: 91_300)
        print("ESPALIER_SEED=\(first)")
        let stack = try Stack(.inMemory, classes: teamClasses)
        let all = (0..<60).map { _ in Skill(context: stack.context) }
        for seed in (0..<20).map({ first &+ $0 }) {
            var random = SeededGenerator(seed: seed)
            // Some lists become longer than those whose gaps are few enough to stay.
            let skills = Array(all.prefix(Int.random(in: 2...all.count, using: &random)))
            let (list, set): (OrderedToMany<Skill>, ToMany<Skill>) = ([], [])
            var array: [Skill] = []
            for step in 0..<200 {
                Self.change(list, set, &array, skills, &random)
                let place = "seed \(seed), step \(step)"
                // Not each time: an access by position closes the gaps.
                if Bool.random(using: &random) {
                    #expect(list.indices.map { list[$0] } == array, "\(place)")
                    for skill in skills {
                        #expect(list.firstIndex(of: skill) == array.firstIndex(of: skill), "\(place)")
                    }
                }
                #expect(Array(list) == array && list.count == array.count, "\(place)")
                #expect(list.objectIDs == array.map(\.objectID) && list.isEmpty == array.isEmpty, "\(place)")
                #expect(skills.allSatisfy { list.contains($0) == array.contains($0) }, "\(place)")
                #expect(Set(set) == Set(array) && set.count == array.count, "\(place)")
            }
        }
    }

    /// Makes one random change of an array, and the same one of two collections that have its objects.
    private static func change(
        _ list: OrderedToMany<Skill>, _ set: ToMany<Skill>, _ array: inout [Skill], _ skills: [Skill],
        _ random: inout SeededGenerator
    ) {
        let some = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            skills[Int.random(in: skills.indices, using: &random)]
        }
        let index = Int.random(in: -1...array.count, using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0, 1:
            list.append(contentsOf: some)
            set.formUnion(some)
            for skill in some where !array.contains(skill) { array.append(skill) }
        case 2:
            list.insert(contentsOf: some, at: index)
            guard index >= 0 else { return }
            set.formUnion(some)
            var target = index
            for skill in some where !array.contains(skill) {
                array.insert(skill, at: target)
                target += 1
            }
        case 3:
            list.remove(at: index)
            guard array.indices.contains(index) else { return }
            set.remove(array.remove(at: index))
        case 4:
            let target = Int.random(in: -1...array.count, using: &random)
            list.move(from: index, to: target)
            guard array.indices.contains(index), array.indices.contains(target) else { return }
            array.insert(array.remove(at: index), at: target)
        case 5, 6:
            list.subtract(some)
            set.subtract(some)
            array.removeAll { some.contains($0) }
        case 7:
            let isMember = array.contains(some[0])
            #expect((list.remove(some[0]) != nil) == isMember && (set.remove(some[0]) != nil) == isMember)
            array.removeAll { $0 === some[0] }
        case 8:
            list.replaceObject(at: index, with: some[0])
            guard array.indices.contains(index), !array.contains(some[0]) else { return }
            set.remove(array[index])
            set.insert(some[0])
            array[index] = some[0]
        case 9:
            list.removeAll { some.contains($0) }
            set.subtract(some)
            array.removeAll { some.contains($0) }
        default:
            guard Int.random(in: 0..<10, using: &random) == 0 else { return }
            list.removeAll()
            set.removeAll()
            array = []
        }
    }

    @Test func `a collection without an owner costs as much for each object that it gets and loses`() throws {
        try expectGrowth(1, 100, 1000) { stack in
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>())
            return try work(context) {
                let (set, list): (ToMany<Paper>, OrderedToMany<Paper>) = ([], [])
                for paper in papers {
                    #expect(set.insert(paper).inserted && !set.insert(paper).inserted)
                    list.append(paper)
                }
                set.formUnion(papers)
                list.append(contentsOf: papers)
                #expect(set.count == papers.count && Array(list) == papers)
                for paper in papers.dropLast() { #expect(set.remove(paper) === paper && list.remove(paper) === paper) }
                #expect(list.first === papers.last && list.count == 1)
                set.subtract(papers)
                #expect(set.isEmpty)
            }
        }
    }
}
