// The entries of the list of mutations (`Tests/Mutations/list`), as the rules and `Tests/Mutations/run` read them.
//
// The script compiles this file, the patch of tokens and the lexer with `Tests/Mutations/main.swift`: none of them
// imports a module of the package.

/// One fault of the list, and the test that must notice it.
struct Mutation {
    let name: String
    /// The path of the mutated file within the repository.
    private(set) var file = ""
    /// The suite and the name of the test, with a slash between them.
    private(set) var test = ""
    private(set) var reason = ""
    private var old: [Substring] = []
    private var new: [Substring] = []

    /// The edit that puts the fault into the file.
    var patch: TokenPatch { TokenPatch(old: old.joined(separator: "\n"), new: new.joined(separator: "\n")) }

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
