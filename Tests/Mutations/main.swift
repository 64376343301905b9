// Writes the mutants of `Tests/Mutations/run`: the arguments are the list, the folder that has `Sources`, the folder
// for the mutants, and the names of the mutations.
//
// Each mutant is a folder of files: `in` has the path of the source, `caught` the suite and the test. The mutated
// source has the file name of the source; or `stale` says why there is none. A line of output names each place that is
// not letter by letter the old text.

import Foundation

func write(_ text: String, to file: URL) throws { try Data(text.utf8).write(to: file) }

guard CommandLine.arguments.count > 4 else { exit(2) }
let (list, root, mutants) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
let all = Mutation.all(in: try String(contentsOfFile: list, encoding: .utf8))
for name in CommandLine.arguments.dropFirst(4) {
    guard let mutation = all.first(where: { $0.name == name }) else {
        FileHandle.standardError.write(Data("no mutation '\(name)' in the list\n".utf8))
        exit(2)
    }
    let source = URL(filePath: root).appending(path: mutation.file)
    let folder = URL(filePath: mutants).appending(path: name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try write(mutation.file, to: folder.appending(path: "in"))
    try write(mutation.test + "\n", to: folder.appending(path: "caught"))
    do {
        let outcome = try mutation.patch.applied(to: try String(contentsOf: source, encoding: .utf8))
        try write(outcome.text, to: folder.appending(path: source.lastPathComponent))
        if let distance = outcome.distance {
            print("fuzz \(name): \(mutation.file):\(outcome.line) has distance \(distance) from the old text")
        }
    } catch let failure as TokenPatch.Failure {
        try write("\(mutation.file):\(failure.line): \(failure)", to: folder.appending(path: "stale"))
    } catch {
        try write("\(mutation.file): \(error)", to: folder.appending(path: "stale"))
    }
}
