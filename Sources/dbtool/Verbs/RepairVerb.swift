// `dbtool repair`: restores the superblock from its copy, or the copy from the superblock; other damage cannot be
// repaired in place.

import EspalierEngine

/// The verb `repair`.
enum RepairVerb: Verb {
    static let usage = Usage(
        name: "repair", summary: "write a damaged superblock anew from its copy, or the copy from the superblock",
        parameters: [.required("FILE", "the store; nobody may have it open for writing")], options: [.json],
        discussion: """
            A store whose superblock is damaged can be read, by the copy, but not written before this was done.
            Damage in other pages cannot be mended in place: see 'dbtool help salvage'.
            Exit code 0: nothing was damaged, or it is mended now.
            """,
        examples: [
            .init(command: "dbtool repair broken.espalier", meaning: "then 'dbtool check' tells what else is wrong")
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let isRepaired = try naming(path) { () throws(StorageError) in try Database.repair(path) }
        if arguments.wantsJSON {
            console.print(["file": .string(path), "repaired": .boolean(isRepaired)])
        } else {
            console.print("\(path): \(isRepaired ? "repaired" : "superblock and copy are in order")")
        }
        return .ok
    }
}
