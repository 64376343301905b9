// Rules about the repository as a whole: the places of files, and that every file is used.

extension Repository {
    static let topLevel: Set = ["Package.swift", "Sources", "Tests", "Fuzz", "Benchmarks", "README.md"]
    /// Files that explain their folder to a reader; no code names them.
    static let explanations: Set = ["README.md", "LICENSE.md"]

    /// The top level has only the folders and files of `topLevel`, and dot files.
    func topLevelFindings() -> [Finding] {
        let found = Set(paths.compactMap { $0.split(separator: "/").first.map(String.init) })
        return found.subtracting(Self.topLevel).filter { !$0.hasPrefix(".") }.sorted().map {
            Finding($0, 0, "the top level holds \(Self.topLevel.sorted().joined(separator: ", ")) and dot files only")
        }
    }

    /// A file of tests is called `…Tests.swift` and declares a suite of that name; no file without tests has such a
    /// name; and `XTests.swift` is in the tests of the module that has `X.swift`.
    func testNameFindings() -> [Finding] {
        let sources = Dictionary(grouping: swiftFiles.filter(\.isProduct), by: \.stem)
        let mirrors = Set(swiftFiles.filter(\.isProduct).map { $0.target + "Tests" })
        return swiftFiles.compactMap { file in
            guard file.isTest, file.target.hasSuffix("Tests") else { return nil }
            guard file.hasTests else {
                return file.stem.hasSuffix("Tests") ? file.finding(0, "a file called …Tests holds tests") : nil
            }
            guard file.stem.hasSuffix("Tests") else { return file.finding(0, "a file of tests is called …Tests.swift") }
            guard file.typeDeclarations().contains(where: { $0.name == file.stem }) else {
                return file.finding(0, "a file of tests declares the suite \(file.stem)")
            }
            guard mirrors.contains(file.target), let tested = sources[String(file.stem.dropLast("Tests".count))] else {
                return nil
            }
            let targets = Set(tested.map { $0.target + "Tests" })
            return targets.contains(file.target)
                ? nil : file.finding(0, "belongs to \(targets.sorted().joined(separator: " or "))")
        }
    }

    /// No two files and no two suites below `Tests` have the same name, even in different targets.
    ///
    /// `swift test --filter` and the documents name suites without their targets.
    func equalNameFindings() -> [Finding] {
        var places: [String: [String]] = [:]
        // The name of a program's file is the compiler's.
        for file in swiftFiles where file.isTest && file.stem != "main" {
            for name in file.suiteNames().union([file.stem]) { places[name, default: []].append(file.path) }
        }
        return places.flatMap { name, paths -> [Finding] in
            let paths = paths.sorted()
            return paths.dropFirst().map { Finding($0, 0, "\(paths[0]) has the name \(name), too: change one of them") }
        }.sorted { ($0.path, $0.message) < ($1.path, $1.message) }
    }

    /// If the tests of a module have folders, each has the name of a folder of the module, and `XTests.swift` is in the
    /// folder named as that of `X.swift`.
    func testFolderFindings() -> [Finding] {
        let sources = Dictionary(grouping: swiftFiles.filter(\.isProduct)) { $0.target + "Tests" }
        let tests = Dictionary(grouping: swiftFiles.filter(\.isTest), by: \.target)
        return tests.sorted { $0.key < $1.key }.flatMap { target, files -> [Finding] in
            guard let module = sources[target], files.contains(where: { !$0.folder.isEmpty }) else { return [] }
            let folders = Set(module.map(\.folder)).union([""])
            let places = Dictionary(
                module.map { ($0.stem + "Tests", $0.folder) }, uniquingKeysWith: { first, _ in first })
            return files.compactMap { file in
                if let place = places[file.stem], place != file.folder {
                    return file.finding(0, "belongs to the folder '\(place)', as the file that it tests")
                }
                return folders.contains(file.folder)
                    ? nil : file.finding(0, "the module has no folder '\(file.folder)'")
            }
        }
    }

    /// A string of a Swift source names each other file, unless it explains its folder.
    ///
    /// A string names the file by its own name, with or without the ending, or by one of its folders, as a whole word.
    /// A manifest that excludes the file does not count.
    func deadFileFindings() -> [Finding] {
        let strings = swiftFiles.filter { $0.stem != "Package" }.flatMap { file in
            file.tokens.filter { $0.kind == .string }.map(\.text)
        }
        let words = strings.flatMap { $0.split { $0 == "/" || $0.isWhitespace } }
        let used = Set(words).union(words.compactMap { $0.split(separator: ".").first })
        return paths.compactMap { path in
            let parts = path.split(separator: "/")
            guard parts.count > 2, !path.hasPrefix("."), let name = parts.last else { return nil }
            if name.hasSuffix(".swift") || Self.explanations.contains(String(name)) || path.contains(".docc/") {
                return nil
            }
            let names = Set(parts.dropFirst(2)).union([name.split(separator: ".").first ?? name])
            return used.isDisjoint(with: names) ? Finding(path, 0, "no Swift file names it: use it or remove it") : nil
        }
    }
}

extension SourceFile {
    /// The types of the file that are marked as suites.
    fileprivate func suiteNames() -> Set<String> {
        let keywords: Set = ["struct", "class", "enum", "actor"]
        let names = code.indices.dropLast().compactMap { index -> String? in
            guard code[index].isCode("@"), code[index + 1].isCode("Suite"),
                let keyword = code[(index + 2)...].firstIndex(where: { keywords.contains($0.text) }),
                keyword + 1 < code.count
            else { return nil }
            return code[keyword + 1].text
        }
        return Set(names)
    }
}
