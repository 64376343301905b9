// Assertions do not become rarer: each folder of the store and the engine keeps its number of them for each function.
//
// Invariants
//   1. A call that only counts a step (`StepCount`) is no assertion.
//   2. The table is a ratchet: raise a number when a folder has more, and lower none. Each is a little below the number
//      that the folder had when it was written, so that a function or two need no assertion.
// Not here: the words of their messages (SourceFile+Words).

extension Repository {
    /// The least number of assertions for each hundred functions, by module or by folder of a module.
    ///
    /// Folders that are missing consist of declarations, of calls that are passed on, and of checks that throw.
    static let assertionMinimums: [String: Int] = [
        "EspalierEngine": 52, "EspalierEngine/Commit": 98, "EspalierEngine/Database": 21, "EspalierEngine/Engine": 59,
        "EspalierEngine/FileSystem": 37, "EspalierEngine/Format": 53, "EspalierEngine/Log": 98,
        "EspalierEngine/Maintenance": 45, "EspalierEngine/Pager": 76, "EspalierEngine/Salvage": 51,
        "EspalierEngine/Tree": 70,
        "EspalierStore": 42, "EspalierStore/BTree": 37, "EspalierStore/Batch": 39, "EspalierStore/Check": 37,
        "EspalierStore/Coding": 54, "EspalierStore/Contract": 28, "EspalierStore/Incremental": 24,
        "EspalierStore/Memory": 57, "EspalierStore/Migration": 39, "EspalierStore/Planning": 55,
        "EspalierStore/Rows": 53, "EspalierStore/Saving": 63, "EspalierStore/Schema": 45,
        "EspalierStore/WholeGraph": 18,
    ]

    /// Each module or folder of `minimums` that has fewer assertions for its functions, or no function.
    func assertionFindings(_ minimums: [String: Int] = Repository.assertionMinimums) -> [Finding] {
        let modules = Set(minimums.keys.compactMap { $0.split(separator: "/").first.map(String.init) })
        let counts = swiftFiles.filter { $0.isProduct && modules.contains($0.target) }.map { file in
            (path: file.path, functions: file.functions().count, assertions: file.assertionCount())
        }
        return minimums.sorted { $0.key < $1.key }.compactMap { folder, minimum in
            let within = counts.filter { $0.path.hasPrefix("Sources/\(folder)/") }
            let functions = within.reduce(0) { $0 + $1.functions }
            let assertions = within.reduce(0) { $0 + $1.assertions }
            if functions == 0 { return Finding("Sources/\(folder)", 0, "has no functions: take it off the list") }
            guard assertions * 100 < minimum * functions else { return nil }
            return Finding(
                "Sources/\(folder)", 0,
                "\(assertions) assertions in \(functions) functions; at least \(minimum) in a hundred: assert the "
                    + "conditions on which the new functions rely")
        }
    }
}

extension SourceFile {
    /// The number of calls of `assert` and the like, without those that only count a step.
    func assertionCount() -> Int {
        code.indices.count { index in
            guard code[index].kind == .word, Self.assertions.contains(code[index].text), index + 1 < code.count,
                code[index + 1].isCode("(")
            else { return false }
            return index + 2 == code.count || !code[index + 2].isCode("StepCount")
        }
    }
}
