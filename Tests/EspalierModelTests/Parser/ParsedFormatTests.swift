// The cache of parsed formats: a cached text keeps its meaning, whatever arguments a later call has.

import EspalierModel
import Foundation
import Testing

@Suite struct ParsedFormatTests {
    @Test func `a text that was read before is not read again`() throws {
        let text = "name == %@ AND age > %d AND 'read once' != name"
        let first = try FetchPredicate(format: text, "a", 1)

        let (steps, _) = try StepCount.count {
            let (again, other) = (try FetchPredicate(format: text, "a", 1), try FetchPredicate(format: text, "b", 2))
            #expect(again == first && other != first)
        }

        #expect(steps == 0)
    }

    @Test func `a text with variables beside its arguments is not read again, and keeps its variables (PR-03)`() throws
    {
        let text = "name == $name AND age > %d AND $owner.age < %d AND 'with variables' != name"
        _ = try FetchPredicate(format: text, 1, 2)

        var again: FetchPredicate?
        let (steps, _) = try StepCount.count { again = try FetchPredicate(format: text, 3, 4) }

        #expect(steps == 0)
        // A text with other spaces is not kept.
        #expect(again == (try FetchPredicate(format: text + " ", 3, 4)))
    }

    @Test func `a text that is kept gives with other arguments what the parser gives`() throws {
        let arguments: [(any PredicateArgument)?] = [
            "a", "b*", "", 1, -1, 2.5, true, nil, "name", [1, 2], ["x"], "$other", "%1", Date(timeIntervalSince1970: 0),
        ]
        let texts = [
            "name == %@", "%@ == name", "name LIKE %@", "name IN %@", "%K == 1", "age > -%@", "age + %@ > 1",
            "name CONTAINS[cd] %@", "name MATCHES %@", "ANY list.age == %@", "NOT name == %@", "age BETWEEN {0, %@}",
            "age == %d", "name == %s", "SUBQUERY(list, $x, $x.age > %@).@count > 0", "'%@' == name AND name == %@",
            "TERNARY(age > 1, %@, 2) == 2", "name == $other OR name == %@", "%@ IN name", "%@",
        ]
        for text in texts {
            for (position, argument) in arguments.enumerated() {
                // A text with other spaces is not in the cache, so the parser reads it.
                let fresh = text + String(repeating: " ", count: position + 1)
                let kept = Result { try FetchPredicate(format: text, argumentArray: [argument]) }
                let again = Result { try FetchPredicate(format: text, argumentArray: [argument]) }
                let parsed = Result { try FetchPredicate(format: fresh, argumentArray: [argument]) }
                #expect((try? kept.get()) == (try? parsed.get()), "\(text) with \(String(describing: argument))")
                #expect((try? again.get()) == (try? parsed.get()), "\(text) with \(String(describing: argument))")
            }
        }
    }

    /// With the option [n] the two spellings are two constants.
    @Test func `texts that differ only in the spelling of a letter keep each its own`() throws {
        for name in ["caf\u{E9} 9", "cafe\u{301} 9", "caf\u{E9} 9", "cafe\u{301} 9"] {
            let predicate = try FetchPredicate(format: "name ==[n] '\(name)'")
            guard case .comparison(let comparison) = predicate, case .value(.string(let text)) = comparison.right else {
                Issue.record("\(predicate)")
                continue
            }
            #expect(Array(text.utf8) == Array(name.utf8))
        }
    }

    @Test func `many texts are read, and each means what it says`() throws {
        for _ in 0..<2 {
            for number in 0..<600 {
                let predicate = try FetchPredicate(format: "age == \(number)")
                guard case .comparison(let comparison) = predicate else {
                    Issue.record("\(predicate)")
                    continue
                }
                #expect(comparison.right == .value(.integer(Int64(number))))
            }
        }
    }
}
