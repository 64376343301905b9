// Rules and constraints that no value can follow, or that their property cannot have: errors on the line of the rule
// where syntax tells, else problems of the model.

import Espalier
import Testing

@Suite struct RuleDiagnosticTests {
    @Test func `a rule that fits no value of its property is an error at the rule (MD-16)`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            import Foundation
            @Entity final class Track: ManagedObject {
                @Attribute(.maximumLength(3)) var a: Int // error: 'maximumLength' is for the length of a String or Data
                @Attribute(
                    .indexed,
                    .pattern("[a-z]+") // error: a rule 'pattern' is for a String, but b is Double
                ) var b: Double?
                @Attribute(.minimum(true)) var c: Bool // error: a rule 'minimum' is for values with an order
                @Attribute(.minimum("m")) var d: Int // error: the limit of 'minimum' is a text, but d is Int
                @Attribute(.maximum(1.5)) var e: Int32 // error: the limit of 'maximum' is a number, but e is Int32
                @Attribute(.minimum(0)) var f: Date // error: the limit of 'minimum' is a whole number, but f is Date
                @Attribute(.maximum(9)) var g: Optional<String> // error: the limit of 'maximum' is a whole number, but
                @Attribute(.minimumLength(-1)) var h: String // error: 'minimumLength' is a number of 0 or more
                @Attribute(.minimum(10), .maximum(1)) var i: Int // error: 'minimum' is greater than 'maximum'
                @Attribute(
                    .maximumLength(2),
                    .minimumLength(3) // error: 'minimumLength' is greater than 'maximumLength'
                ) var j: Data
                @Attribute(.minimum(-0.5), .maximum(-1)) var k: Double // error: 'minimum' is greater than 'maximum'
                @Relationship(minimum: 3, maximum: 2) var l: Set<Track> // error: 'minimum' is greater than 'maximum'
                @Relationship(minimum: -3) var m: Set<Track> // error: 'minimum' is a number of 0 or more
                @Relationship(minimum: 3, maximum: 0) var n: [Track]
                @Attribute(.minimum(-1), .maximum(2.0)) var o: Int
                @Attribute(.minimum(0), .maximum(0)) var p: Decimal
                @Attribute(.minimum("a"), .pattern("[a-z]"), .minimumLength(1), .maximumLength(1)) var q: String
                @Attribute(.maximumLength(9)) var r: Data?
                @Attribute(.minimum(Date.distantPast)) var s: Date
            }
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }

    @Test func `a rule that only the compiler could judge is a problem of the model (MD-16)`() throws {
        let error = #expect(throws: ModelError.self) { try ManagedObjectModel(for: [Tag.self]) }

        #expect(
            try #require(error).problems.map(\.property) == ["size", "key", "code"], "\(String(describing: error))")
    }

    @Test func `a constraint by key paths that is there already, or has two actions, is an error (SD-06)`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            @Entity(constraintActions: [["code"]: .keep]) final class Track: ManagedObject {
                #Unique<Track>([\.name], [\.disc, \.number])
                #Unique<Track>(
                    [\.number, \.disc], // error: (number, disc) is unique already; remove one of the two
                    onConflict: .merge)
                #Unique<Track>([\.isbn]) // error: (isbn) is unique already; remove one of the two
                #Unique<Track>(
                    [\.code],
                    onConflict: .merge) // error: 'constraintActions' of @Entity has an action for (code), too
                #Unique<Track>([\.year], onConflict: .upsert) // error: has no member 'upsert'
                #Unique<Track>(onConflict: .merge) // error: #Unique needs at least one list of key paths
                var name: String
                var disc: Int
                var number: Int
                var code: String
                var year: Int
                @Attribute(.unique) var isbn: String
            }
            """#)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }
}

/// A label, whose type's name tells no macro what it is.
typealias Label = String

@Entity final class Tag: ManagedObject {
    @Attribute(.minimum(1)) var size: Label
    @Attribute(.pattern("[")) var key: Label
    @Attribute(.maximumLength(3)) var code: Grade = .a
}
