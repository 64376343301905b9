// The log of migrations that the arguments or the environment of the process ask for (DB-03).

public import EspalierStore

extension MigrationLog {
    /// A log that writes to the standard error.
    public static func standardError(_ level: Level = .steps) -> MigrationLog {
        MigrationLog(level) { ProcessSetting.report($0.description) }
    }

    /// The log that `-espalier.MigrationLog` or `ESPALIER_MIGRATION_LOG` asks for, with a level from 1 to 3; a greater
    /// number is 3.
    package static let ofProcess = ProcessSetting.level(
        argument: "-espalier.MigrationLog", variable: "ESPALIER_MIGRATION_LOG", greatest: Level.allCases.count
    ).flatMap { Level(rawValue: $0) }.map { standardError($0) }
}

extension MigrationOptions {
    /// The options with the log of the process, if they have none.
    package var logged: MigrationOptions {
        var options = self
        options.log = log ?? .ofProcess
        return options
    }
}
