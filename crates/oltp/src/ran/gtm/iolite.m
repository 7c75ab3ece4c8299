iolite	; Work within the database for iolite: commands are lines of standard input, responses are lines of standard output.
	; Variables are not NEWed: the error trap answers from whatever level it happened in.
	;
serve	; Answers commands until standard input ends
	use $principal:(width=1048576)
	set base=$zlevel,$etrap="zgoto "_base_":trap^iolite"
	set noise="/dev/urandom",largest=1048576
	goto next
	;
trap	; An error: what was begun is rolled back, and what was done is reported before it
	set status=$zstatus,$ecode=""
	use $principal
	trollback:$tlevel
	if $zeof!(status["IOEOF")!(status["EPIPE")!(status["Broken pipe") halt
	write "error "_$translate(status,$char(10,13),"  "),!
	;
next	; The next command
	set $etrap="zgoto "_base_":trap^iolite"
	read line
	if $zeof halt
	set verb=$piece(line," "),reply=""
	do @("do"_verb)
	write "done "_reply,!
	goto next
	;
dohello	; The version and what this process is
	set reply=$zversion_"|"_$job
	quit
	;
dopool	; What values are cut from, one behind the other: random bytes, that don't compress
	do random(largest)
	set pool=random,room=largest-100,at=$random(room)+1
	quit
	;
dofill	; BYTES FROM TO: nodes of one block each, with values of so many bytes
	do open($piece(line," ",2))
	for i=$piece(line," ",3):1:$piece(line," ",4) use noise read random set ^RanReadBlock(i)=random
	use $principal close noise
	quit
	;
domake	; GLOBAL FROM TO: subscripts in bulk
	set global="^RanWriteGlobal"_$piece(line," ",2),p=largest
	for i=$piece(line," ",3):1:$piece(line," ",4) do
	. set l=50+(i#51)
	. if p+l>largest do random(largest) set p=1
	. set @global@(i)=$extract(random,p,p+l-1),p=p+l
	quit
	;
dokill	; GLOBAL
	kill @("^RanWriteGlobal"_$piece(line," ",2))
	quit
	;
docount	; GLOBAL AFTER MOST: subscripts that follow, and the last of them; empty at the end
	set global="^RanWriteGlobal"_$piece(line," ",2),s=$piece(line," ",3),n=0
	for  quit:n=$piece(line," ",4)  set s=$order(@global@(s)) quit:s=""  set n=n+1
	set reply=n_" "_s
	quit
	;
dolast	; GLOBAL: its last subscript
	set reply=$order(@("^RanWriteGlobal"_$piece(line," ",2)_"("""")"),-1)
	quit
	;
dolastblock	; The last block to read
	set reply=$order(^RanReadBlock(""),-1)
	quit
	;
doflush	; Writes out what is in the buffers
	if '$data(opened) set opened=$data(^RanReadBlock)+$data(^RanWriteGlobal1)
	view "FLUSH"
	quit
	;
dojournal	; Whether the journal is on: 2
	set reply=$data(^RanWriteGlobal1),reply=$view("JNLACTIVE","DEFAULT")
	quit
	;
docounters	; What the two regions have counted
	if '$data(opened) set opened=$data(^RanReadBlock)+$data(^RanWriteGlobal1)
	set reply=$view("GVSTAT","READ")_"|"_$view("GVSTAT","DEFAULT")
	quit
	;
dobegin	; RUN: begins a run of commits
	set run=$piece(line," ",2),^IoliteCommit(run)="begun"
	quit
	;
docommit	; RUN WORKER NUMBER: a node in a transaction of its own, and whether the journal is on: 2
	set run=$piece(line," ",2),worker=$piece(line," ",3),number=$piece(line," ",4)
	tstart ():serial
	set ^IoliteCommit(run,worker,number)=""
	tcommit
	set reply=$view("JNLACTIVE","DEFAULT")
	quit
	;
docommits	; RUN WORKER AFTER MOST: numbers that follow, as many as that at most; without a worker (-) the workers
	set run=$piece(line," ",2),worker=$piece(line," ",3),s=$piece(line," ",4),n=0
	set:s="-" s=""
	if $data(^IoliteCommit(run))#2=0 set reply="none" quit
	if worker="-" for  set s=$order(^IoliteCommit(run,s)) quit:s=""  set reply=reply_s_" "
	if worker'="-" for  quit:n=$piece(line," ",5)  set s=$order(^IoliteCommit(run,worker,s)) quit:s=""  set n=n+1,reply=reply_s_" "
	quit
	;
dodrop	; RUN: removes its commits
	kill ^IoliteCommit($piece(line," ",2))
	quit
	;
dobatch	; LIMIT WIDTH BATCH GLOBAL;CYCLES, the limit in microseconds: see wire.rs
	set limit=$piece(line," ",2),w=$piece(line," ",3),batch=$piece(line," ",4)
	set global="^RanWriteGlobal"_+$piece(line," ",5),p=$find(line,";"),n=$length(line),count=0,journal=2
	kill out
	set $etrap="zgoto "_base_":lost^iolite"
	set began=$zut,t=began
	for  quit:p>n  quit:t-began'<limit  do
	. set kind=$extract(line,p),e=p+7+(w*$extract(line,p+1,p+6)),p=p+7,o=""
	. if kind="S" do sets if 1
	. else  do reads
	. set count=count+1,out(count)=o,p=e
	do report
	if $data(wrote) set journal=$view("JNLACTIVE","DEFAULT") kill wrote
	set reply=began_" "_journal
	quit
	;
lost	; An error in a batch: reports the cycles that were whole
	set status=$zstatus,$ecode="",$etrap="zgoto "_base_":trap^iolite"
	use $principal
	trollback:$tlevel
	do report
	write "done "_began_" error "_$translate(status,$char(10,13),"  "),!
	goto next
	;
sets	; One transaction. A restart by the database begins after TSTART: it counts for the first set
	set q=p,first=$zut,wrote=1
	if batch tstart ():(serial:transaction="BATCH")
	else  tstart ():serial
	if $trestart set o="",p=q
	; By name once; what follows refers to the same global by the naked reference
	if p<e set s=+$extract(line,p,p+w-1),p=p+w,at=at+101 set:at>room at=at#room+1
	if p>q set @global@(s)=$extract(pool,at,at+49+(s#51)),te=$zut,o=(first-t)_","_(te-first),t=te
	for  quit:p'<e  set s=+$extract(line,p,p+w-1),p=p+w,at=at+101 set:at>room at=at#room+1 set ts=$zut,^(s)=$extract(pool,at,at+49+(s#51)),te=$zut,o=o_" "_(ts-t)_","_(te-ts),t=te
	set ts=$zut
	tcommit
	set te=$zut,o=o_" "_(ts-t)_","_(te-ts),t=te
	quit
	;
reads	; Blocks, each the last where the time is over
	for  quit:p'<e  quit:t-began'<limit  do
	. set s=+$extract(line,p,p+w-1),p=p+w
	. set ts=$zut,random=^RanReadBlock(s),te=$zut,o=o_" "_(ts-t)_","_(te-ts),t=te
	quit
	;
report	; A line for every so many cycles
	set z=""
	for i=1:1:count set z=z_out(i)_"|" if $length(z)>8000 write z,! set z=""
	if z'="" write z,!
	quit
	;
open(size)	; Random bytes, so many at once
	open noise:(readonly:fixed:recordsize=size)
	quit
	;
random(size)	; The same once
	do open(size)
	use noise read random use $principal close noise
	quit
