// The list of mutations (`Tests/Mutations/run`) matches the sources: each old text is in its file, and each test
// exists.

import Testing

/// An entry of the list.
private struct Mutation {
    let name: String
    private(set) var file = ""
    private(set) var test = ""
    private(set) var reason = ""
    private var old: [Substring] = []
    private var new: [Substring] = []

    var oldText: String { old.joined(separator: "\n") }
    var newText: String { new.joined(separator: "\n") }

    /// Reads the list: an entry begins with its name, and each of its lines is a field or a line of text.
    static func all(in list: String) -> [Mutation] {
        var mutations: [Mutation] = []
        for line in list.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("mutation ") {
                mutations.append(Mutation(name: String(line.dropFirst("mutation ".count))))
            } else if !mutations.isEmpty {
                mutations[mutations.count - 1].take(line)
            }
        }
        return mutations
    }

    private init(name: String) { self.name = name }

    private mutating func take(_ line: Substring) {
        let rest = line.drop { $0 != " " }.drop { $0 == " " }
        if line.hasPrefix("-") {
            old.append(line.dropFirst())
        } else if line.hasPrefix("+") {
            new.append(line.dropFirst())
        } else if line.hasPrefix("in ") {
            file = "Sources/" + (rest.hasPrefix("Espalier") ? "" : "EspalierEngine/") + rest
        } else if line.hasPrefix("caught ") {
            test = String(rest)
        } else if line.hasPrefix("because ") {
            reason = String(rest)
        }
    }
}

@Suite struct MutationListTests {
    private func list() throws -> [Mutation] {
        Mutation.all(in: try #require(Repository.current.text(of: "Tests/Mutations/list")))
    }

    @Test func `the list is long, and each of its names stands for one mutation`() throws {
        let mutations = try list()

        #expect(mutations.count >= 100)
        #expect(Set(mutations.map(\.name)).count == mutations.count)
        for mutation in mutations {
            #expect(!mutation.reason.isEmpty, "\(mutation.name)")
            #expect(mutation.oldText != mutation.newText, "\(mutation.name)")
        }
    }

    @Test func `each old text stands in its file exactly once`() throws {
        for mutation in try list() {
            let text = try #require(Repository.current.text(of: mutation.file), "\(mutation.name)")

            #expect(text.ranges(of: mutation.oldText).count == 1, "\(mutation.name)")
        }
    }

    @Test func `each test that must notice a mutation exists`() throws {
        let files = Repository.current.swiftFiles.filter(\.isTest)
        let stems = Dictionary(grouping: files, by: \.stem)
        for mutation in try list() {
            let parts = mutation.test.split(separator: "/", maxSplits: 1)
            let candidates = stems[String(parts.first ?? "")] ?? []
            let declaration = "func `\(parts.last ?? "")`("

            #expect(candidates.contains { $0.lines.contains { $0.contains(declaration) } }, "\(mutation.test)")
        }
    }
}
