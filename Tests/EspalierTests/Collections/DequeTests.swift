// A list that loses elements at both ends, against an array.

import EspalierModel
import TestSupport
import Testing

@testable import Espalier

@Suite struct DequeTests {
    @Test func `it has the elements of an array that changes in the same way`() {
        let first = testSeed(default: 41_700)
        print("ESPALIER_SEED=\(first)")
        for seed in (0..<20).map({ first &+ $0 }) {
            var random = SeededGenerator(seed: seed)
            var (deque, array) = (Deque<Int>(), [Int]())
            // Some walks grow, others stay short.
            let appendMax = Int.random(in: 3...8, using: &random)
            for step in 0..<400 {
                switch Int.random(in: 0..<10, using: &random) {
                case ..<appendMax:
                    deque.append(step)
                    array.append(step)
                case 9 where step % 40 == 0:
                    deque.removeAll()
                    array.removeAll()
                case 9 where step % 7 == 0:
                    deque.removeAll { $0 % 3 == 0 }
                    array.removeAll { $0 % 3 == 0 }
                case 8:
                    let (found, expected) = (deque.popLast(), array.popLast())
                    #expect(found == expected, "seed \(seed), step \(step)")
                case 9:
                    deque.modifyFirst { $0 += 1000 }
                    if !array.isEmpty { array[0] += 1000 }
                default:
                    let found = deque.popFirst()
                    let expected = array.isEmpty ? nil : array.removeFirst()
                    #expect(found == expected, "seed \(seed), step \(step)")
                }
                #expect(Array(deque) == array, "seed \(seed), step \(step)")
                #expect(deque.count == array.count && deque.isEmpty == array.isEmpty, "seed \(seed), step \(step)")
                #expect(deque.first == array.first && deque.last == array.last, "seed \(seed), step \(step)")
            }
        }
    }

    @Test func `taking the first element moves each other one at most once`() {
        let count = 10_000
        var deque = Deque<Int>()
        for number in 0..<count { deque.append(number) }
        let (steps, _) = StepCount.count { while deque.popFirst() != nil {} }

        #expect(deque.isEmpty && steps < 2 * count, "\(steps) elements were moved")
    }

    @Test func `a removed element is released at once`() {
        let count = Count()
        var deque = Deque<Thing>()
        for _ in 0..<3 { deque.append(Thing(count)) }

        _ = deque.popFirst()
        #expect(count.freed == 1)
        _ = deque.popLast()
        #expect(count.freed == 2 && deque.count == 1)
    }

    private final class Count {
        var freed = 0
    }

    private final class Thing {
        private let count: Count

        init(_ count: Count) { self.count = count }

        deinit { count.freed += 1 }
    }
}
