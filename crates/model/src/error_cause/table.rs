//! The table.

/// Declares areas and causes: `Cause "what it means" => "what to do about it"`, under their area.
macro_rules! causes {
    ($($area:ident $title:literal { $($cause:ident $meaning:literal => $remedy:literal,)+ })+) => {
        /// Where a cause may occur.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorArea {
            $(#[doc = $title] $area,)+
        }

        impl ErrorArea {
            /// All, in the order of the table.
            pub const ALL: &'static [ErrorArea] = &[$(ErrorArea::$area,)+];

            /// As a heading.
            pub const fn title(self) -> &'static str {
                match self { $(ErrorArea::$area => $title,)+ }
            }
        }

        /// What an error most likely comes from.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ErrorCause {
            $($(#[doc = $meaning] $cause,)+)+
        }

        impl ErrorCause {
            /// All, in the order of the table.
            pub const ALL: &'static [ErrorCause] = &[$($(ErrorCause::$cause,)+)+];

            /// Where it may occur.
            pub const fn area(self) -> ErrorArea {
                match self { $($(ErrorCause::$cause => ErrorArea::$area,)+)+ }
            }

            /// The cause in words.
            pub const fn meaning(self) -> &'static str {
                match self { $($(ErrorCause::$cause => $meaning,)+)+ }
            }

            /// What to do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $($(ErrorCause::$cause => $remedy,)+)+ }
            }
        }
    };
}

causes! {
    Files "Files, directories and devices" {
        Missing "the path does not exist" =>
            "check the path; mount its file system, or create the directory, where that is missing",
        NotADirectory "something on the path is not a directory" =>
            "something on the path is a file where a directory must be: check the path",
        Exists "something of that name exists" => "choose another name, or remove it yourself",
        NotPermitted "this user may not do that with the file or directory" =>
            "check the permissions of it and of the directories above it (namei -l shows them), or choose another (root is refused for immutable files \
             (lsattr) and on network file systems (root_squash))",
        DeviceNotPermitted "this user may not open the device" =>
            "only root and the device's group may open it; in a container the device must be passed through, too",
        NoDirectIo "the file system has no direct I/O" =>
            "the file system does not support direct I/O (O_DIRECT): leave `direct` out, or measure on another one",
        RingDisabled "io_uring is disabled by a setting or a container's filter of system calls" =>
            "io_uring is disabled (sysctl kernel.io_uring_disabled, or a container's seccomp profile): use another back end \
             (libaio, threads), or enable it",
        ReadOnly "the file system is mounted read-only" =>
            "it is mounted read-only: choose another or remount it (mount -o remount,rw); where errors made it read-only, the \
             kernel log (dmesg) has them",
        Full "the file system is full, or the user's quota is used up" => "free some space, or ask for less of it",
        FileTooLarge "the file would be larger than a limit of the process or the file system allows" =>
            "use smaller files, or raise the limit on their size (ulimit -f)",
        InUse "a running program or something that has claimed the device uses it" =>
            "it is in use (a program that runs, a device that something has claimed): end that, or choose another",
        OpenFiles "too many files are open" => "use fewer files, or raise the limit on open ones (ulimit -n)",
        Memory "memory, or memory that may be locked, is used up" =>
            "use fewer or smaller buffers, or raise the limit on locked memory (ulimit -l)",
        SettingNotPermitted "this user may not change a setting of a device" =>
            "only root may change it (sudo), and in a container /sys must be writable",
        LockedMemory "memory may not be locked, or not so much of it" =>
            "lock less, or raise the limit of locked memory (ulimit -l)",
        Threads "there may be no more threads or processes" =>
            "raise the limit on processes (ulimit -u; pids.max of a container or service), or use fewer workers",
        AioRequests "the asynchronous requests of this host are used up" =>
            "raise the sysctl fs.aio-max-nr, or use a smaller queue depth, fewer workers or another back end",
        NoAio "the kernel, or a container's filter of system calls, has no asynchronous I/O" =>
            "the kernel is built without CONFIG_AIO, or a container's seccomp profile refuses io_setup(2): use another back end \
             (io-uring, threads)",
        ZonesNotPermitted "this user may not report, reset or finish the zones of a device" =>
            "run as root: resets need write access to the device, and before Linux 5.15 its zones are shown to root only",
        ZonesUnsupported "the kernel or the device does not report, reset or finish zones" =>
            "the kernel must support zoned block devices (CONFIG_BLK_DEV_ZONED), and the device do so itself: see `blkzone report \
             DEVICE`",
        Device "the device failed" => "the storage failed: look at the kernel log (dmesg)",
    }
    Settings "Tracing, and settings of drives" {
        TracingNotMounted "tracefs is not mounted" =>
            "mount it as root (mount -t tracefs nodev /sys/kernel/tracing); in a container, run iolite on the host",
        TracingNotPermitted "this user may not trace" =>
            "tracing requires root (sudo); in a container, run iolite on the host",
        TracepointMissing "the kernel lacks a tracepoint" => "a newer kernel may have it",
        WriteCacheFixed "a device has no setting for its write cache" =>
            "only SCSI, SATA, NVMe and virtio drives have a setting for it (`queue/write_cache` is only the kernel's view of it): set \
             it where the device comes from",
        WriteCacheShared "a drive whose write cache is to be switched holds other data, too" =>
            "specify --write-cache on or off to switch it nevertheless",
        WriteCacheRefused "a drive or the kernel does not switch the write cache" =>
            "the drive may not allow it: see its manual, and the kernel log (dmesg)",
    }
    Operations "Operations of a job" {
        ShortTransfer "fewer bytes than asked for were transferred" =>
            "the target ends before it, or its file system moves less: check its size",
        WouldBlock "the operation would have had to wait" =>
            "wait for free requests: ask for fewer operations at a time, or leave `nowait` out",
        NotSupported "the operation is not supported" =>
            "its file system or device does not do this: use another back end, or other options",
        DamagedData "the data read differs from the data written" =>
            "the data is not what was written: the kinds of damage say what the storage did (docs/safety.md)",
        OtherFailure "another error of the system" => "the error says what was refused",
    }
    Results "The results database" {
        ResultsFull "its file system is full" =>
            "the file system is full: free some space or use --results FILE elsewhere",
        ResultsNotWritable "it may not be written to" =>
            "no write permission: correct the permissions, or use --results FILE elsewhere",
        ResultsLocked "another program has locked it" =>
            "another program has locked it: end that program (see fuser) or use --results FILE elsewhere",
        ResultsUnopened "it cannot be opened" =>
            "the place is missing, a directory, forbidden or read-only: check the path or use --results FILE elsewhere",
        ResultsStorage "the storage beneath it fails" =>
            "the storage beneath it fails: see the kernel log (dmesg) and use --results FILE elsewhere",
        ResultsIndex "its -shm file was cut short, or cannot be read" =>
            "the -shm file beside it was cut short, or its storage fails (see the kernel log, dmesg): leave that file alone, end the \
             programs that use the database, and try again",
        ResultsDamaged "it is damaged" =>
            "it is damaged: try `sqlite3 FILE .recover`, and use --results FILE elsewhere meanwhile",
        ResultsContradiction "what is to be stored contradicts what is stored" =>
            "what is stored contradicts what is there, for example a run of the same id; please report it",
        ResultsQuery "a statement in SQL is wrong" =>
            "correct the statement: docs/results.md describes the tables and views",
        ResultsOther "anything else that SQLite refuses" =>
            "SQLite says what it refused; another database is used with --results FILE",
    }
    Tls "TLS, PostgreSQL and MariaDB alike" {
        CertificateExpired "the server's certificate has expired" =>
            "the server's certificate has expired: have it renewed, or use sslmode=require, which does not verify it",
        CertificateOfOtherHost "the server's certificate is for another host" =>
            "the server's certificate was issued for another host: write a host that it names (subjectAltName) into the URL, or \
             use sslmode=verify-ca",
        CertificateOfOtherAuthority "the server's certificate is from another authority" =>
            "the server's certificate was not issued by the authority in sslrootcert: name the right file, or use \
             sslmode=require, which does not verify it",
        CertificateIsAuthority "the server's certificate is an authority's, self-signed for example" =>
            "the server's certificate is an authority's (CA:TRUE), as self-signed certificates are by default: PostgreSQL can be \
             verified if sslrootcert is this certificate itself; MariaDB and MySQL need one with CA:FALSE; or use \
             sslmode=require, which does not verify it",
        CertificateVersion "the server's certificate has X.509 version 1" =>
            "the server's certificate has X.509 version 1, which cannot be verified: issue it again with extensions, at least \
             subjectAltName (openssl x509 -req -extfile FILE), or use sslmode=require, which does not verify it",
        ClientCertificateMissing "the server wants a certificate of the client" =>
            "the server wants a certificate of the client: add sslcert=FILE and sslkey=FILE to the URL",
        ClientCertificateRefused "the server does not accept the client's certificate" =>
            "the server does not accept the certificate in sslcert: it must be issued by an authority that the server trusts \
             (PostgreSQL: ssl_ca_file; MariaDB, MySQL: ssl_ca), be valid today, and belong to the user that connects",
        TlsHandshake "the handshake failed otherwise" =>
            "the TLS handshake failed: check the server's log, certificate and allowed versions of TLS (iolite supports 1.2 and \
             1.3)",
        TlsNotOffered "the server has no TLS" =>
            "the server does not offer TLS, or no version in common: use sslmode=prefer or disable, or turn TLS on there \
             (PostgreSQL: ssl; MariaDB, MySQL: ssl_cert, ssl_key)",
        TlsFileMissing "a certificate or key cannot be read" => "correct sslrootcert, sslcert or sslkey",
        TlsFileInvalid "a file holds no certificate or key" =>
            "specify certificates and keys in PEM: sslrootcert, sslcert and sslkey",
    }
    Servers "Servers, PostgreSQL and MariaDB alike" {
        NoServer "no server listens at that address" =>
            "no server listens there: start it, or a private one (iolite db start), or correct the URL",
        HostUnknown "the name of the host is unknown" => "no host of that name is known here: correct the URL",
        HostSilent "the host does not respond" => "the host does not respond: correct the URL, or check firewalls",
        AuthenticationMethod "the server wants to authenticate in a way that iolite does not have" =>
            "the server asks for a way to authenticate that iolite does not have (GSSAPI, SSPI, PAM or LDAP in plain text), or \
             channel_binding=require is specified for one that has no channel binding (trust, peer, cert): connect as a user \
             with a password",
        SocketClosed "this user may not use the socket" =>
            "the socket's directory is closed to this user: run as another",
        ServerGone "the server has ended, or the connection was lost" =>
            "the server has ended or the connection was lost: see its log and start it again",
        LongPath "the path of a directory is too long, for a socket or for GT.M" => "choose a directory with a shorter path",
        ContentsChanged "what iolite created there was changed" =>
            "its contents were changed since they were created: purge the database and create it again",
        ClientNotBuilt "iolite was built without the client of the database" =>
            "build iolite with its default features, or with this one (cargo build --features postgres, or mysql)",
        OwnBuffersOnly "blocks of a database can only be read in one way" => "leave out --through-buffers",
        NoWaitEvents "a database does not show what its sessions wait for" =>
            "only PostgreSQL, MariaDB and MySQL show that: leave out --waits",
        NoTprocC "TPROC-C does not run in a database" => "use SQLite, PostgreSQL or MariaDB",
        OneWriter "a database has one writer at a time" =>
            "its writers wait for each other, and for no page: use PostgreSQL or MariaDB",
        LocksHeld "transactions of TPROC-C get no lock, again and again" =>
            "look for another session that holds locks (iolite waits watch), or use fewer virtual users",
    }
    Postgres "PostgreSQL" {
        PgTlsRequired "the server lets this user in only over TLS" =>
            "the server lets this user in only over TLS, or not from this host: use sslmode=require (or verify-full with \
             sslrootcert=FILE), or add a line to pg_hba.conf",
        PgHostRefused "no line of pg_hba.conf lets this user in" =>
            "the server does not let this user in from this host: add a line to pg_hba.conf",
        PgHosts "hosts, addresses and ports of the URL or the environment do not belong together" =>
            "specify one port, or as many ports (and addresses) as hosts, separated by commas",
        PgNoPassword "the server wants a password, and there is none" =>
            "specify the password in the URL (postgres://USER:PASSWORD@HOST/DATABASE) or in the environment as PGPASSWORD",
        PgLogin "user or password are wrong" =>
            "correct the user and the password (in the URL, or PGPASSWORD), or let this user in (pg_hba.conf; with \
             clientcert=verify-full sslcert must be issued for this user)",
        PgNoDatabase "the database does not exist" =>
            "create the database (createdb NAME), or name another one in the URL",
        PgPrivilege "the role lacks a privilege" =>
            "connect as a superuser or as a role that has been granted this",
        PgFull "the server's file system is full or failing" =>
            "the server's file system is full or failing: free some space, purge, or ask for less",
        PgMemory "the server is out of memory" =>
            "the server is out of memory: raise what its message names, lower shared_buffers or work_mem, or use fewer jobs",
        PgConnections "there are too many sessions" =>
            "raise max_connections on the server (or this role's: ALTER ROLE ... CONNECTION LIMIT), end other sessions, or run \
             fewer jobs",
        PgCancelled "a user or a timeout has cancelled it" =>
            "it was cancelled by a user or a timeout: check statement_timeout of this role and database",
        PgTooOld "the server is too old" =>
            "upgrade the server, or measure another one: sets are done in procedures that commit",
        PgNotInstalled "an extension is not installed" =>
            "install the server's contributed extensions (package postgresql-contrib) or ask its administrator for them",
        PgNotDurable "the server does not sync what it commits" =>
            "turn fsync on (ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();), or measure the server as it is with --durability \
             as-configured",
        PgPrewarmMissing "the extension that reads past the buffers is not there" =>
            "let a superuser create it (CREATE EXTENSION pg_prewarm; from the package postgresql-contrib)",
        PgInspectMissing "the extension that reads through the buffers is not there" =>
            "let a superuser create it (CREATE EXTENSION pageinspect; from the package postgresql-contrib), and connect as one, or \
             read past the buffers",
        PgPrewarm "this role may not create the extension pg_prewarm" =>
            "let a superuser do it once in this database: CREATE EXTENSION pg_prewarm",
        PgInspect "this role may not read pages through the buffers" =>
            "connect as a superuser: only superusers may read pages through the buffers",
        PgDatabaseInUse "other sessions use a database that is to be copied or removed" =>
            "end the other sessions in that database, and repeat",
        PgLocked "another session has locked it" =>
            "another session is using it: end that one (pg_stat_activity shows it) or wait for it",
        PgReadOnly "the server only reads" =>
            "this server only reads (a standby, or default_transaction_read_only): measure the primary",
        PgConflict "another session changes the same rows" => "another session works on the same rows: end that one",
        PgDependents "something else depends on what is to be removed" =>
            "something that iolite did not create depends on it: drop that first",
        PgOther "anything else that the server refuses" =>
            "see the server's log; if it happens again, purge the database and create it again",
    }
    Mysql "MariaDB and MySQL" {
        MyUnencrypted "access is denied to a connection without TLS" =>
            "the connection was not encrypted, and a server or an account that requires TLS refuses that (MariaDB with the words \
             of a wrong password): use sslmode=require; otherwise check the user and the password",
        MyLogin "user or password are wrong, or the account wants a client certificate" =>
            "check the user and the password (URL or ~/.my.cnf); an account declared with REQUIRE X509, ISSUER or SUBJECT is \
             refused in the same words without sslcert and sslkey, or with others than it names",
        MyAccount "the account is locked, or its password has expired" =>
            "unlock the account (ALTER USER ... ACCOUNT UNLOCK), or set a new password for it (SET PASSWORD)",
        MyNoDatabase "the database does not exist" =>
            "create that database in the server (CREATE DATABASE), or name another in the URL",
        MyPrivilege "the user lacks a privilege" =>
            "the user lacks a privilege: GRANT ALL ON the database TO the user, and for counters and flushing GRANT PROCESS, \
             RELOAD ON *.* TO the user",
        MyFull "the server's file system is full" =>
            "the server's file system is probably full: free some space or create a smaller database",
        MyConnections "there are too many sessions" =>
            "raise the server's max_connections (or the user's limit), or start fewer workers",
        MyStopped "the server was stopped, or the connection killed" =>
            "the server was stopped or this connection was killed: see its error log, and run again",
        MyLocked "another session has locked the rows" => "another session has locked the rows: end it, and run again",
        MyOption "an option of the server forbids it" =>
            "an option of the server forbids this, or InnoDB is switched off there: change the option, or use another server",
        MyReadOnly "the server is read-only" => "the server is read-only (read_only): use another server",
        MyNotDurable "commits are not synced" =>
            "execute SET GLOBAL innodb_flush_log_at_trx_commit = 1 there, or measure the server as it is with --durability \
             as-configured",
        MyNeverSynced "nothing is synced" =>
            "start it with another innodb_flush_method than nosync, or measure the server as it is with --durability as-configured",
        MyBinaryLogNotSynced "the binary log is not synced" =>
            "execute SET GLOBAL sync_binlog = 1 there, or measure the server as it is with --durability as-configured",
        MyNotRelaxed "commits of single sessions cannot be less durable than those of others" =>
            "execute SET GLOBAL innodb_flush_log_at_trx_commit = 2 on the server if this is acceptable, or measure with full \
             durability",
        MyClockStands "SYSDATE() stands still during a statement" =>
            "start the server without sysdate-is-now, or let this program do the timing (--client-timed)",
        MyNoCopy "a database cannot be copied within the server" =>
            "MariaDB and MySQL have no templates; restore the same start from a snapshot of the server's files (stop it, snapshot the \
             file system or the volume, start it), or build again with the same --seed",
        MyTooOld "the server is too old" =>
            "upgrade the server, or let `iolite db start mariadb DIR` start a private one",
        MyPacket "a message is larger than the server accepts" => "raise the server's max_allowed_packet",
        MyHostRefused "no account lets this host in" =>
            "the server does not let this host connect: grant the user access from it",
        MyTableMissing "a table of iolite is missing" =>
            "a table of iolite is missing: create the globals again (create-globals --replace), or purge and set up again",
        MyProcedureMissing "a procedure of iolite is missing" =>
            "a procedure is missing or was created by another version of iolite: purge the database and create it again",
        MyOther "anything else that the server refuses" => "see the server's error log",
    }
    Sqlite "SQLite" {
        SqliteLocked "another process has locked it" =>
            "another process has locked it: end the process or wait for it",
        SqliteFull "the file system is full" =>
            "the file system is full: free some space or create a smaller database",
        SqliteDamaged "its contents are damaged" =>
            "its contents are damaged: purge the database and create it again",
        SqliteUnopened "it cannot be opened" => "check its permissions and the limit of open files (ulimit -n)",
        SqliteNotWritable "it may not be written to" => "make the file and its directory writable",
        SqliteStorage "the storage failed" => "the storage failed: see the kernel log (dmesg)",
        SqliteWithoutPages "SQLite was built without its virtual table of pages" =>
            "build iolite in its workspace, whose .cargo/config.toml sets LIBSQLITE3_FLAGS=-DSQLITE_ENABLE_DBPAGE_VTAB, or set that \
             yourself and build again",
        SqliteOther "anything else that SQLite refuses" =>
            "if it happens again, purge the database and create it again",
    }
    Gtm "GT.M" {
        GtmOther "anything else that GT.M refuses" =>
            "see the system log (journalctl, syslog), where GT.M reports details; after a killed process, the database is \
             recovered at its next use",
        GtmFull "the disk is full" =>
            "the disk is full, most often: free some space (the system log has GT.M's reason); a journal that GT.M has turned off \
             is turned on again by the next run",
        GtmInUse "another process uses the database" =>
            "end whatever else uses this database (fuser names the processes), and try again",
        GtmUnreaped "processes of GT.M that were killed are not reaped by their parent" =>
            "have their parent reap them, or end it: process 1 of a container has to reap orphans (docker run --init), else \
             restart the container; then try again: the database is recovered at its next use",
        GtmTimedWithin "operations of GT.M are timed within the database only" =>
            "it is reached through a pipe to its own process, which would be timed as well: leave --client-timed out, and each \
             operation is timed within the database",
        GtmLongTransaction "a transaction has too many sets" =>
            "specify a shorter --transaction-length: 100000 is short enough",
        GtmTooOld "the installation is too old" =>
            "V6.3-002 is the first with asynchronous I/O and a clock of microseconds: install a newer one, or have $gtm_dist name it",
        GtmNotInstalled "GT.M is not installed" =>
            "install it (Debian and Ubuntu: apt install fis-gtm), or have $gtm_dist name its directory",
        GtmNotThere "$gtm_dist names no installation" =>
            "correct that variable, or unset it and have the installed version found",
        GtmBroken "the installation does not work" =>
            "check whether this installation works: mumps -run %XCMD 'write $zversion'",
    }
    PrivateServers "Private servers (iolite db)" {
        PrivateBusy "another iolite starts or stops a server there" => "wait until it has",
        PrivateSpace "there is too little space for a server's files" =>
            "free some space, or choose a directory on another file system",
        PrivateRunning "a server runs there already" =>
            "use it, or stop it first (iolite db stop)",
        PrivateNotRunning "no server runs there" => "there is nothing left to stop",
        PrivateLog "the server does not start" =>
            "see the end of its log there (server.log, log), the permissions of all directories above it, and the free space",
        PrivateUnreachable "the user that root starts servers as cannot enter the directory" =>
            "choose a directory below one that everybody may enter, such as /var/tmp, or permit it (chmod o+x)",
        PrivatePostgresMissing "PostgreSQL is not installed" =>
            "install the server (package postgresql), or put the directory of initdb and pg_ctl into PATH",
        PrivateMariadbMissing "MariaDB is not installed" =>
            "install the package mariadb-server, or name a server that runs by its URL",
        PrivateBlockSizeFixed "PostgreSQL's blocks have the size that it was compiled with" =>
            "leave --block-size out: it is compiled into the server (8 KiB in all packages); ranges of blocks are read after `iolite ranread setup --block-size`",
        PrivateAlwaysInstrumented "PostgreSQL always reports its waits" => "leave --performance-schema out",
        PrivateBlockSize "its data has blocks of another size" =>
            "leave out --block-size, or choose another directory",
        PrivateNoSuchBlockSize "there are no blocks of that size" => "specify a block size of 4, 8, 16, 32 or 64 KiB",
    }
    Durability "Durability tests" {
        WitnessUnreachable "the witness cannot be reached" =>
            "start `iolite durability witness` there, and check the address, the token and firewalls",
        WitnessLost "the witness records nothing more" =>
            "it cannot record further writes, so the run was ended: the recorded writes can be checked",
        WitnessFile "the witness's file is not there" => "specify the witness's file",
        NotMounted "the directory of the run is not there" =>
            "mount it, or name the directory that it is now with --directory",
    }
}
