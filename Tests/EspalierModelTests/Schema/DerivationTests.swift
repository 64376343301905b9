// Derived attributes as a model has them: their spelling, what the checker of models refuses, and their bytes (MD-27).

import EspalierModel
import Testing

@Suite struct DerivationTests {
    private static let spellings: [(text: String, derivation: Derivation)] = [
        ("name", .value(of: "name")),
        ("artist.name", .value(of: "artist.name")),
        ("canonical:(name)", .canonical(of: "name")),
        ("lowercase:(artist.name)", .lowercase(of: "artist.name")),
        ("uppercase:(name)", .uppercase(of: "name")),
        ("tracks.@count", .count(of: "tracks")),
        ("tracks.@sum.seconds", .sum(of: "seconds", in: "tracks")),
        ("tracks.@avg.seconds", .average(of: "seconds", in: "tracks")),
        ("tracks.@min.title", .minimum(of: "title", in: "tracks")),
        ("tracks.@max.seconds", .maximum(of: "seconds", in: "tracks")),
        ("now()", .now),
    ]

    @Test func `derivations are written as Core Data writes them, and read again`() throws {
        for (text, derivation) in Self.spellings {
            #expect(derivation.expression == text)
            #expect(try Derivation(expression: text) == derivation)
        }
    }

    @Test(arguments: [
        ("tracks.seconds.@sum", Derivation.sum(of: "seconds", in: "tracks")),
        ("sum:(tracks.seconds)", .sum(of: "seconds", in: "tracks")),
        ("count:(tracks)", .count(of: "tracks")),
        ("average:(tracks.seconds)", .average(of: "seconds", in: "tracks")),
        ("uppercase(name)", .uppercase(of: "name")),
    ])
    func `other spellings are read too`(text: String, derivation: Derivation) throws {
        #expect(try Derivation(expression: text) == derivation)
    }

    @Test func `a count with a condition is a SUBQUERY (C-16)`() throws {
        let text = "SUBQUERY(tracks, $t, $t.seconds > 200 AND NOT $t.title == \"$t\").@count"
        let derivation = try Derivation(expression: text)
        #expect(derivation == .count(of: "tracks", where: "seconds > 200 AND NOT title == \"$t\""))
        #expect(derivation.expression == text.replacing("$t.", with: "$x.").replacing(" $t,", with: " $x,"))
        #expect(try Derivation(expression: derivation.expression) == derivation)
    }

    @Test(arguments: [
        "", "name +", "name + 1", "a.b.c", "tracks.@median.seconds", "SUBQUERY(tracks, $t, $t.seconds > limit).@count",
        "stddev:(tracks.seconds)", "tracks.album.@count", "5", "uppercase:(tracks.@count)",
        "SUBQUERY(tracks, $t, $t.title MATCHES '(a+)+b').@count",
        "SUBQUERY(tracks, $t, characterCount($t.title) > 3).@count",
    ])
    func `an expression that stores do not keep is refused with a reason`(text: String) {
        do {
            let derivation = try Derivation(expression: text)
            Issue.record("\(text) is read as \(derivation)")
        } catch {
            #expect(error.expression == text && !error.problem.isEmpty)
        }
    }

    // MARK: The checker

    private func problem(_ type: AttributeType, _ derivation: Derivation, hasInverse: Bool = true) -> String? {
        let entities = [
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("title", .string), AttributeDescription("cover", .transformable),
                    AttributeDescription("draft", .string, isTransient: true),
                    AttributeDescription("derived", type, derivation: derivation),
                ],
                relationships: [
                    RelationshipDescription("tracks", to: "Track", inverse: hasInverse ? "album" : nil, .toMany)
                ]),
            EntityDescription(
                "Track",
                attributes: [AttributeDescription("title", .string), AttributeDescription("seconds", .integer32)],
                relationships: [RelationshipDescription("album", to: "Album", inverse: hasInverse ? "tracks" : nil)]),
        ]
        do {
            _ = try ManagedObjectModel(entities: entities)
            return nil
        } catch {
            return error.problems.map(\.message).joined(separator: "; ")
        }
    }

    @Test func `derivations that a store can keep are accepted`() {
        #expect(problem(.string, .canonical(of: "title")) == nil)
        #expect(problem(.integer64, .sum(of: "seconds", in: "tracks")) == nil)
        #expect(problem(.double, .average(of: "seconds", in: "tracks")) == nil)
        #expect(problem(.decimal, .sum(of: "seconds", in: "tracks")) == nil)
        #expect(problem(.date, .now) == nil)
        #expect(problem(.integer16, .count(of: "tracks"), hasInverse: false) == nil)
        #expect(problem(.integer64, .count(of: "tracks", where: "seconds > 10 AND album != nil")) == nil)
        #expect(problem(.integer64, .count(of: "tracks", where: "title LIKE[cd] 'now(*?' AND NOT title == 'x'")) == nil)
    }

    @Test(arguments: [
        (AttributeType.string, Derivation.value(of: "titel"), "did you mean 'title'?"),
        (.string, .value(of: "draft"), "transient"),
        (.string, .value(of: "cover"), "are not derived"),
        (.integer64, .value(of: "title"), "but its value type string"),
        (.string, .canonical(of: "tracks.title"), "is to-many"),
        (.integer64, .count(of: "title"), "not a relationship of 'Album'"),
        (.string, .count(of: "tracks"), "a count is a number"),
        (.integer64, .sum(of: "title", in: "tracks"), "only numbers"),
        (.integer64, .average(of: "seconds", in: "tracks"), "fraction"),
        (.integer64, .maximum(of: "seconds", in: "tracks"), "but its values type integer32"),
        (.string, .now, "of type date"),
        (.integer64, .count(of: "tracks", where: "seconds >"), "its condition is not valid"),
        (.integer64, .count(of: "tracks", where: "album.title == 'x'"), "more than the values of one destination"),
        (.integer64, .count(of: "tracks", where: "NOT title MATCHES '(a+)+b'"), "a regular expression may take too"),
        (.integer64, .count(of: "tracks", where: "TERNARY(title MATCHES 'a', 1, 2) == 1"), "a regular expression"),
        (.integer64, .count(of: "tracks", where: "characterCount(title) > 3"), "versions of Unicode"),
        (.integer64, .count(of: "tracks", where: "title ENDSWITH[w] 'e'"), "versions of Unicode"),
        (.integer64, .count(of: "tracks", where: "title < CAST(now(), 'string')"), "the time is another one"),
        (.string, .lowercase(of: "derived"), "derived from itself"),
    ])
    func `the checker of models names what is wrong`(type: AttributeType, derivation: Derivation, text: String) throws {
        let found = try #require(problem(type, derivation))
        #expect(found.contains(text), "\(found)")
    }

    @Test func `a relationship whose objects must be found needs an inverse`() throws {
        let found = try #require(problem(.integer64, .sum(of: "seconds", in: "tracks"), hasInverse: false))
        #expect(found.contains("has no inverse"))
    }

    @Test func `derivations are in the order in which they can be computed`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "A",
                attributes: [
                    AttributeDescription("c", .string, derivation: .uppercase(of: "b")),
                    AttributeDescription("b", .string, derivation: .lowercase(of: "a")),
                    AttributeDescription("a", .string),
                ])
        ])
        #expect(model.derivations.map(\.attribute.name) == ["b", "c"])
    }

    // MARK: Bytes

    @Test func `the bytes of layout version 2 never change`() throws {
        let entity = EntityDescription(
            "A",
            attributes: [
                AttributeDescription("n", .string), AttributeDescription("u", .string, derivation: .uppercase(of: "n")),
            ],
            indexes: [
                .init(
                    "i", on: [.init("n", folding: [.caseInsensitive, .diacriticInsensitive])],
                    predicateFormat: "n != nil")
            ])
        let bytes: [UInt8] =
            [
                0x45, 0x53, 0x50, 0x4D, 0x02, 0x00,  // "ESPM", version 2, no version identifiers
                0x01, 0x01, 0x41, 0x00, 0x00,  // one entity: "A", no superentity, not abstract
                0x02, 0x01, 0x6E, 0xBC, 0x05, 0x01, 0x00, 0x00, 0x00, 0x00,  // two attributes: "n", type 700
                0x01, 0x75, 0xBC, 0x05, 0x09, 0x00, 0x00, 0x00, 0x00,  // "u", optional and derived
                0x0D,
            ] + Array("uppercase:(n)".utf8) + [
                0x00, 0x00,  // no relationships, no constraints
                0x01, 0x01, 0x69, 0x01, 0x01, 0x6E, 0x07,  // an index "i" on "n", ascending, without case and marks
                0x01, 0x08,
            ] + Array("n != nil".utf8) + [0x00]
        let model = EncodedModel(entities: [entity])
        #expect(model.bytes == bytes)
        #expect(try EncodedModel(bytes: model.bytes) == model)
    }
}
