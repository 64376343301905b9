// `dbtool migrate`: migrates a store to another model, or shows what that would do.

import EspalierEngine
import EspalierModel
import EspalierStore

/// The verb `migrate`.
enum MigrateVerb: Verb {
    static let usage = Usage(
        name: "migrate", summary: "migrate a store to another model, or show what that would do",
        parameters: [.required("STORE", "the store; no process may have it open for writing")],
        options: [
            .text("--model", "MODEL", "the model file, or a store with the model (required)"),
            .text("--mapping", "FILE", "a mapping model (NAME.xcmappingmodel) for what names do not tell"),
            .flag("--dry-run", "try the migration on the real rows, and roll it back: nothing is changed"),
            .text("--allow", "NAMES", "the names of allowed losses, separated by commas: Track.title,Note"),
            .text("--backup", "FILE", "copy the store there first; the file must not exist"), .json,
        ],
        discussion: """
            The migration is one transaction: whatever happens, the store has the old model with its rows, or the new
            one with all of its rows. A loss of data is refused by its name unless --allow names it. Rows that the new
            model forbids are listed, and nothing is changed: values without an exact equivalent of the new type, no
            value where one is required, several objects where a relationship can lead to only one, too few or too many
            objects.
            A mapping model says how objects of one entity become objects of others; everything else is migrated as
            without it. It must do without classes of an application: --mapping has no policies.
            Exit code 0: the migration was made, or would succeed; 1: it was refused, or would be refused.
            """,
        examples: [
            .init(
                command: "dbtool migrate music.espalier --model Music.xcdatamodeld --dry-run",
                meaning: "shows each step with its rows, and the reasons for a refusal"),
            .init(
                command: "dbtool migrate music.espalier --model Music.xcdatamodeld --allow Track.mood --backup old",
                meaning: "migrates, and deletes the values of one attribute"),
            .init(
                command: "dbtool migrate music.espalier --model Music.xcdatamodeld --mapping Split.xcmappingmodel",
                meaning: "migrates by the mappings of a file"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("STORE")
        guard let modelPath = arguments.text("--model") else {
            throw .usage(
                UsageError(message: "--model is missing: --model MODEL", hint: "usage: \(usage.synopsis)"))
        }
        let migration = try StoreMigration(
            path, to: try ModelSource(modelPath, console).model, by: arguments.text("--mapping"), console)
        let names = (arguments.text("--allow") ?? "").split(separator: ",").map(String.init)
        let known = names.isEmpty ? [] : try migration.losses()
        if let name = names.first(where: { name in !known.contains { $0.name == name } }) {
            throw .unknownName(UnknownName(kind: "loss", name: name, candidates: known.map(\.name)))
        }
        let options = MigrationOptions(
            allowing: Set(known.filter { names.contains($0.name) }), backupPath: arguments.text("--backup"))
        let isDryRun = arguments.flag("--dry-run")
        let outcome = try isDryRun ? migration.plan(options, checkingRows: true) : migration.run(options)
        if arguments.wantsJSON {
            console.print(json(outcome, path, isDryRun: isDryRun))
        } else {
            show(outcome, path, isDryRun: isDryRun, console)
        }
        return outcome.refusal == nil ? .ok : .difference
    }
}

extension MigrateVerb {
    private static func show(_ plan: MigrationPlan, _ path: String, isDryRun: Bool, _ console: Console) {
        guard !plan.difference.isEmpty || !plan.mappings.isEmpty else {
            return console.print("\(path): the store already has this model")
        }
        var table = TextTable([.text("where"), .text("what"), .text("cost"), .number("rows"), .text("loses")])
        for step in plan.steps {
            table.append([
                step.change.subject, step.change.kind.description,
                step.change.rows.isEmpty ? "constant" : "\(step.change.cost)", DisplayText.grouped(step.rowCount),
                step.change.loss?.description ?? "",
            ])
        }
        console.output.write(table.rendered() + "\n")
        for mapping in plan.mappings {
            console.print(
                "  \(mapping.name): \(DisplayText.grouped(mapping.sourceCount)) objects, "
                    + "\(DisplayText.grouped(mapping.createdCount)) made of them")
        }
        if let outcome = plan.outcome, plan.refusal == nil {
            let verb = isDryRun ? "would be " : ""
            console.print(
                "\(path): \(verb)migrated: \(DisplayText.grouped(outcome.rowsWritten)) rows written, "
                    + "\(DisplayText.grouped(outcome.rowsMoved)) moved, "
                    + "\(DisplayText.grouped(outcome.rowsRemoved)) removed, "
                    + "\(DisplayText.grouped(outcome.linksWritten)) links written, "
                    + "\(DisplayText.grouped(outcome.indexesBuilt)) indexes built, "
                    + "\(DisplayText.grouped(outcome.derivedValuesWritten)) derived values written")
        }
        guard let refusal = plan.refusal else { return }
        console.print("\(path): \(isDryRun ? "would be refused" : "refused; the store was not changed")")
        for loss in refusal.losses { console.print("  loses: \(loss.name) (--allow \(loss.name))") }
        for text in refusal.obstacles + refusal.failures.map(\.description) { console.print("  \(text)") }
    }

    private static func json(_ plan: MigrationPlan, _ path: String, isDryRun: Bool) -> JSONValue {
        let steps = plan.steps.map { step -> JSONValue in
            guard case .object(let members) = step.change.json else { return .null }
            return .object(members + [(name: "rows", value: .count(step.rowCount))])
        }
        let failures = (plan.refusal?.failures ?? []).map { failure -> JSONValue in
            [
                "subject": .string(failure.subject), "text": .string(failure.description),
                "rows": .count(failure.rowCount),
                "objects": .array(failure.objects.map { .string("\($0.entityName)/\($0.key)") }),
            ]
        }
        let mappings = plan.mappings.map { mapping -> JSONValue in
            [
                "name": .string(mapping.name), "objects": .count(mapping.sourceCount),
                "made": .count(mapping.createdCount),
            ]
        }
        let outcome = plan.outcome.map { outcome -> JSONValue in
            [
                "rowsWritten": .count(outcome.rowsWritten), "rowsMoved": .count(outcome.rowsMoved),
                "rowsRemoved": .count(outcome.rowsRemoved), "linksWritten": .count(outcome.linksWritten),
                "indexesBuilt": .count(outcome.indexesBuilt),
                "derivedValuesWritten": .count(outcome.derivedValuesWritten),
            ]
        }
        return [
            "file": .string(path), "dryRun": .boolean(isDryRun), "refused": .boolean(plan.refusal != nil),
            "steps": .array(steps), "losses": .array((plan.refusal?.losses ?? []).map { .string($0.description) }),
            "obstacles": .array((plan.refusal?.obstacles ?? []).map { .string($0) }), "failures": .array(failures),
            "mappings": .array(mappings), "outcome": outcome ?? .null,
        ]
    }
}
